import { expect, it } from "vitest";

import { createShared } from "../../../../src/service/kernel/coalesce.ts";

/** Pending questions, each answered by the test. */
function scene() {
  const shared = createShared<string>();
  const put: PromiseWithResolvers<string>[] = [];
  const ask = (about = "a") =>
    shared(about, () => {
      const question = Promise.withResolvers<string>();
      put.push(question);
      return question.promise;
    });
  return { put, ask };
}

it("callers during a pending question → share the next one", async () => {
  const { put, ask } = scene();
  const first = ask();
  const later = [ask(), ask(), ask()];
  expect(put).toHaveLength(1);
  put[0]?.resolve("before");
  expect(await first).toBe("before");
  await expect.poll(() => put.length).toBe(2);
  put[1]?.resolve("after");
  expect(await Promise.all(later)).toEqual(["after", "after", "after"]);
  expect(put).toHaveLength(2);
});

it("another question, or no pending one → sent at once", async () => {
  const { put, ask } = scene();
  const answers = [ask("a"), ask("b")];
  expect(put).toHaveLength(2);
  for (const question of put) question.resolve("yes");
  await Promise.all(answers);
  void ask("a");
  expect(put).toHaveLength(3);
});

it("failure → only its callers fail", async () => {
  const { put, ask } = scene();
  const [first, second] = [ask(), ask()];
  put[0]?.reject(new Error("broken"));
  await expect(first).rejects.toThrow("broken");
  await expect.poll(() => put.length).toBe(2);
  put[1]?.resolve("whole");
  expect(await second).toBe("whole");
});
