import { expect, test } from "vitest";

import { failureOf } from "../../../../src/api/words/deployment-failures.ts";

const codeOf = (lastErrorCode: string | null | undefined) => ({
  id: "dep_1",
  status: "failed",
  last_error_code: lastErrorCode,
});

test("failureOf: known code → its meaning", () => {
  expect(failureOf(codeOf("preparation_timeout"))?.what).toBe("Its endpoint was not healthy in time.");
});

test("failureOf: unknown code → unchanged", () => {
  expect(failureOf(codeOf("robot_on_fire"))).toEqual({ what: "robot_on_fire.", remedy: "" });
});

test.each([null, undefined, ""])("failureOf: %j → no failure", (code) => {
  expect(failureOf(codeOf(code))).toBeNull();
});
