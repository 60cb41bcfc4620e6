import { describe, expect, it } from "vitest";

import { maskSecrets, maskWholeKeys, serviceKeyOffset } from "../../../src/api/wire/service-key.ts";

const KEY = "sk_rps_0123456789abcdefghijABCDEFGH";
const CREDENTIAL = "rps_robot_0123456789abcdefghijABCDEFGH";

describe("secrets in texts", () => {
  it.each([
    ["a key", `the key ${KEY} is`, "the key sk_… is"],
    ["a robot's credential", `Bearer ${CREDENTIAL}`, "Bearer rps_…"],
    ["a credential glued to a word", `x${CREDENTIAL}`, "xrps_…"],
    ["both", `${KEY},${CREDENTIAL}`, "sk_…,rps_…"],
    ["one that was cut short", CREDENTIAL.slice(0, 14), "rps_…"],
  ])("%s → masked", (_title, text, masked) => {
    expect(maskSecrets(text)).toBe(masked);
  });

  it.each([["words about keys: sk_live_…"], ["rps_robot_ is the prefix"], ["task_of_the_robot_arm_number_seventeen"]])(
    "%j → contains none",
    (text) => {
      expect([serviceKeyOffset(text), maskWholeKeys(text)]).toEqual([-1, text]);
    },
  );
});
