import { expect, test } from "vitest";

import { loadLate } from "../../../../src/client/transport/load-late.ts";

test("loadLate: package temporarily unreadable → the request fails", async () => {
  const exhausted = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  await expect(loadLate(() => Promise.reject(exhausted))).rejects.toMatchObject({
    name: "TransportError",
    reason: "other",
    code: "EMFILE",
    message: "cannot read a part of this program (EMFILE)",
  });
});

test("loadLate: bug → thrown unchanged", async () => {
  await expect(loadLate(() => Promise.reject(new SyntaxError("x")))).rejects.toThrow(SyntaxError);
});
