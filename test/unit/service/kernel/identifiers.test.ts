import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { API_KEY_LENGTH } from "../../../../src/api/keys.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { API_KEY_PREFIX, createToken, hashSecret, isToken } from "../../../../src/service/kernel/auth/token.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";

describe("createToken", () => {
  it("format → sk_ and the marker, short enough for tables of existing clients", () => {
    const key = createToken(API_KEY_PREFIX, systemRandom);
    expect(key).toMatch(/^sk_rps_[0-9A-Za-z]{28}$/);
    expect(key.length).toBeLessThanOrEqual(API_KEY_LENGTH.maximum);
  });
  it("many keys → no duplicates", () => {
    expect(new Set(Array.from({ length: 1000 }, () => createToken(API_KEY_PREFIX, systemRandom))).size).toBe(1000);
  });
  it("all 128 bits are used: keys of the smallest and largest entropy are different and valid", () => {
    const made = [0, 255].map((byte) =>
      createToken(API_KEY_PREFIX, { unit: () => 0, bytes: (count) => new Uint8Array(count).fill(byte) }),
    );
    expect(made.map((text) => isToken(API_KEY_PREFIX, text))).toEqual([true, true]);
    expect(made[0]).not.toBe(made[1]);
  });
});

describe("isToken", () => {
  it("any single wrong character → false", () => {
    const key = createToken(API_KEY_PREFIX, systemRandom);
    fc.assert(
      fc.property(fc.nat(key.length - 1), fc.constantFrom(..."0aZ_x "), (index, character) => {
        const typo = key.slice(0, index) + character + key.slice(index + 1);
        expect(isToken(API_KEY_PREFIX, typo)).toBe(typo === key);
      }),
    );
  });
  it.each(["", "sk_rps_", "sk_other_0123456789012345678901234567", "Bearer x"])("%j → false", (text) => {
    expect(isToken(API_KEY_PREFIX, text)).toBe(false);
  });
});

describe("hashSecret", () => {
  it("SHA-256 in hex", () => {
    expect(hashSecret("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  });
});

describe("createIds", () => {
  it("ids → sorted by creation, also within a millisecond and while the clock steps back", () => {
    const times = [1000, 1000, 1000, 400, 2000, 1500, 2001];
    let index = 0;
    const newId = createIds({ ...systemClock, wallMs: () => times[index++] ?? 3000 }, systemRandom);
    const made = Array.from({ length: 20_000 }, () => newId("rob"));
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });
  it("clock was years ahead and is corrected → ids follow it", () => {
    const times = [1000, 90_000_000_000, 90_000_000_000, 2000, 2000, 2001];
    let index = 0;
    const newId = createIds({ ...systemClock, wallMs: () => times[index++] ?? 3000 }, systemRandom);
    const [before = "", ahead = "", still = "", ...right] = Array.from({ length: 6 }, () => newId("rob"));
    expect([before, ...right, ahead, still].toSorted()).toEqual([before, ...right, ahead, still]);
  });
  it("id → starts with the prefix of its kind", () => {
    expect(createIds(systemClock, systemRandom)("rob")).toMatch(/^rob_[0-9a-hjkmnp-tv-z]{26}$/);
  });
});
