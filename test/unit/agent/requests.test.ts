import { expect, it } from "vitest";

import { createRequests } from "../../../src/agent/requests.ts";

it("requests: run → answers all earlier requests, none made during the run", async () => {
  const requests = createRequests();
  const answers: string[] = [];
  void requests.ask({ forced: true }).then(() => answers.push("register"));
  void requests.ask({ confirm: true }).then(() => answers.push("confirm"));
  const first = requests.take();
  const later = requests.ask({ rebind: true }).then(() => answers.push("rebind"));
  first.answer();
  await Promise.resolve();
  expect(first).toMatchObject({ forced: true, confirm: true, rebind: false, rereadAll: true });
  expect(answers).toEqual(["register", "confirm"]);
  const second = requests.take();
  second.answer();
  await later;
  expect(second).toMatchObject({ forced: false, confirm: false, rebind: true, rereadAll: true });
  expect(requests.take()).toMatchObject({ forced: false, confirm: false, rebind: false, rereadAll: false });
});

it("requests: run without a result → the next run answers its callers", async () => {
  const requests = createRequests();
  const answered = requests.ask({ confirm: true });
  requests.take().postpone({ forced: true });
  const next = requests.take();
  next.answer();
  await answered;
  expect(next).toMatchObject({ forced: true, confirm: true });
});
