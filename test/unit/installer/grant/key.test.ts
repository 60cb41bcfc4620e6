import { describe, expect, test } from "vitest";

import { chainGiven } from "../../../../src/installer/grant/on-unit.ts";

const KEY = "/etc/robot-policy-agent/api-key";
const given = (fromUserId: number, toUserId: number, path = KEY) => ({
  path,
  from_user_id: fromUserId,
  from_group_id: fromUserId,
  to_user_id: toUserId,
});

describe("chainGiven: the owner that a revocation restores", () => {
  test.each([
    ["given once", null, given(997, 1000), 997],
    ["given on to another person", given(997, 1000), given(1000, 1001), 997],
    ["taken back by hand in between", given(997, 1000), given(0, 1001), 0],
    ["another file", given(997, 1000, "/etc/old-key"), given(1000, 1001), 1000],
  ])("%s", (_name, known, next, owner) => {
    expect(chainGiven(known, next)).toMatchObject({
      path: KEY,
      from_user_id: owner,
      from_group_id: owner,
      to_user_id: next.to_user_id,
    });
  });
});
