import { describe, expect, it } from "vitest";

import type { Placed } from "../../../src/console/server/places.ts";
import { whoMakesRoom } from "../../../src/console/server/places.ts";

const LIMITS = { credential: 3, organization: 5, all: 8 };

/** `a/key/ses`: an organization, a key of it, and a session that goes back to that key. */
function stream(text: string): Placed & { readonly text: string } {
  const [organizationId = "", key = ""] = text.split("/");
  return {
    text,
    principal: { organization_id: organizationId, key_id: `${organizationId}/${key}`, credential_id: text },
  };
}

describe("whoMakesRoom", () => {
  it.each<[what: string, placed: string, comer: string, leaves: string | undefined]>([
    ["room for all", "a/k a/k", "a/k", undefined],
    ["the own oldest, where the credential has all it may", "a/k1 a/k2 a/k2 a/k2", "a/k2", "a/k2"],
    [
      "the oldest of the key with the most, where the organization is full",
      "a/m a/k/1 a/k/2 a/k/3 a/l",
      "a/n",
      "a/k/1",
    ],
    ["nobody of another organization, as long as there is room for all", "a/m a/k a/k a/l a/l", "b/k", undefined],
    [
      "the oldest of the largest organization, where all places are taken",
      "b/k a/k a/k a/k a/m a/m c/k d/k",
      "e/k",
      "a/k",
    ],
    ["one of the same organization, where that is the largest", "a/k a/l a/m a/n b/k c/k d/k e/k", "a/o", "a/k"],
  ])("%s", (_what, placed, comer, leaves) => {
    const streams = placed.split(" ").map(stream);
    expect(whoMakesRoom(streams, stream(comer), LIMITS)?.text).toBe(leaves);
  });

  it("never leaves somebody without a place who has one, for whoever has more", () => {
    let placed = [stream("quiet/key")];
    for (let count = 0; count < 1000; count += 1) {
      const comer = stream(`loud${count % 3}/key${count % 7}`);
      const leaving = whoMakesRoom(placed, comer, LIMITS);
      placed = [...placed.filter((one) => one !== leaving), comer];
      expect(placed.length).toBeLessThanOrEqual(LIMITS.all);
    }
    expect(placed[0]?.text).toBe("quiet/key");
  });
});
