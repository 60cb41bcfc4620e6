import * as fc from "fast-check";
import { expect, test } from "vitest";

import { fletcher64 } from "../../../../src/agent/registration/fletcher64.ts";

test("fletcher64: the known values of abcde, abcdef and abcdefgh", () => {
  const sums = ["abcde", "abcdef", "abcdefgh"].map((text) => fletcher64(Buffer.from(text)));
  expect(sums).toEqual(["c8c6c527646362c6", "c8c72b276463c8c6", "312e2b28cccac8c6"]);
});

test("fletcher64: any changed byte shows", () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 5000 });
  fc.assert(
    fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 254 }), (whole, place, difference) => {
      const changed = Uint8Array.from(whole);
      const index = place % whole.length;
      changed[index] = ((whole[index] ?? 0) + difference) % 256;
      return fletcher64(changed) !== fletcher64(whole);
    }),
  );
});

test("fletcher64: two words that changed places show", () => {
  expect(fletcher64(Buffer.from("aaaabbbb"))).not.toBe(fletcher64(Buffer.from("bbbbaaaa")));
});
