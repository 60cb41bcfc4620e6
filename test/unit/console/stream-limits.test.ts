import { describe, expect, it } from "vitest";

import { type OpenStream, streamToClose } from "../../../src/console/server/stream-limits.ts";

const LIMITS = { credential: 3, organization: 5, all: 8 };

/** `a/key/ses`: an organization, one of its keys, and a session created with that key. */
function stream(text: string): OpenStream & { readonly text: string } {
  const [organizationId = "", key = ""] = text.split("/");
  return {
    text,
    principal: { organizationId, keyId: `${organizationId}/${key}`, credentialId: text },
  };
}

describe("streamToClose", () => {
  it.each<[what: string, open: string, added: string, closed: string | undefined]>([
    ["no limit reached: none", "a/k a/k", "a/k", undefined],
    ["credential at its limit: its oldest stream", "a/k1 a/k2 a/k2 a/k2", "a/k2", "a/k2"],
    [
      "organization at its limit: the oldest stream of its key with the most streams",
      "a/m a/k/1 a/k/2 a/k/3 a/l",
      "a/n",
      "a/k/1",
    ],
    ["another organization at its limit: none", "a/m a/k a/k a/l a/l", "b/k", undefined],
    [
      "service at its limit: the oldest stream of the largest organization",
      "b/k a/k a/k a/k a/m a/m c/k d/k",
      "e/k",
      "a/k",
    ],
    ["service at its limit, own organization the largest: its oldest", "a/k a/l a/m a/n b/k c/k d/k e/k", "a/o", "a/k"],
  ])("%s", (_what, open, added, closed) => {
    const streams = open.split(" ").map(stream);
    expect(streamToClose(streams, stream(added), LIMITS)?.text).toBe(closed);
  });

  it("never closes the only stream of an organization while others have more", () => {
    let open = [stream("quiet/key")];
    for (let count = 0; count < 1000; count += 1) {
      const added = stream(`loud${count % 3}/key${count % 7}`);
      const closed = streamToClose(open, added, LIMITS);
      open = [...open.filter((one) => one !== closed), added];
      expect(open.length).toBeLessThanOrEqual(LIMITS.all);
    }
    expect(open[0]?.text).toBe("quiet/key");
  });
});
