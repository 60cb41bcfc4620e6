import { expect, it } from "vitest";

import { createRequests } from "../../../src/agent/requests.ts";

it("requests: one run answers all that was asked before it, and nothing that is asked during it", async () => {
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

it("requests: a run without a result leaves the callers, and what they asked, to the next one", async () => {
  const requests = createRequests();
  const asked = requests.ask({ confirm: true });
  requests.take().postpone({ forced: true });
  const next = requests.take();
  next.answer();
  await asked;
  expect(next).toMatchObject({ forced: true, confirm: true });
});

it("requests: the end releases the callers of a run under way, and of the next", async () => {
  const requests = createRequests();
  const callers = [requests.ask({}), requests.ask({})];
  requests.take();
  callers.push(requests.ask({}));
  requests.end();
  await Promise.all(callers);
});
