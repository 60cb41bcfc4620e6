import { describe, expect, it } from "vitest";

import { pointer } from "../../../src/documents/findings.ts";
import { shown } from "../../../src/documents/texts.ts";

/** A key that the cut after `limit` characters splits, glued to the word before it, so that a half of it is not recognized. */
const splitKey = (limit: number) => `${"x".repeat(limit - 18)}sk_live_0123456789abcdef01234567`;

describe("a long text is cut after secrets in it are masked:", () => {
  it("shown", () => {
    expect(shown(splitKey(79))).toBe(`${"x".repeat(61)}sk_…`);
  });

  it("pointer", () => {
    expect(pointer([splitKey(200)])).toBe(`/${"x".repeat(182)}sk_…`);
  });
});
