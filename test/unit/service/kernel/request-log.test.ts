import { expect, it } from "vitest";

import { createOutageLog } from "../../../../src/service/kernel/http/request-log.ts";
import { testMachine } from "../../../support/robot/machine.ts";

it("requests that fail because of the store → the first is logged at once, later ones as a count every 10 s", () => {
  let nowMs = 0;
  const logged: unknown[] = [];
  const tell = createOutageLog({
    clock: { ...testMachine.clock, monotonicMs: () => nowMs },
    log: { ...testMachine.log, error: (event, fields) => logged.push([event, fields]) },
  });
  const entry = (id: string, requests: number) => ["store_unavailable", { request_id: id, reason: "gone", requests }];
  for (const [id, atMs] of [
    ["a", 0],
    ["b", 1],
    ["c", 9999],
    ["d", 10_000],
    ["e", 10_001],
  ] as const) {
    nowMs = atMs;
    tell(id, "gone");
  }
  expect(logged).toEqual([entry("a", 1), entry("d", 3)]);
});
