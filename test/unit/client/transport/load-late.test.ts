import { expect, test } from "vitest";

import { loadLate } from "../../../../src/client/transport/load-late.ts";

test("loadLate: a package that cannot be read for now fails the request", async () => {
  const exhausted = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  await expect(loadLate(() => Promise.reject(exhausted))).rejects.toMatchObject({
    name: "TransportError",
    reason: "other",
    code: "EMFILE",
    message: "cannot read a part of this program (EMFILE)",
  });
});

test("loadLate: a bug stays one", async () => {
  await expect(loadLate(() => Promise.reject(new SyntaxError("x")))).rejects.toThrow(SyntaxError);
});
