import { Readable } from "node:stream";

import { expect, test } from "vitest";

import type { Disk } from "../../../src/installer/disk.ts";
import { findWrongNode } from "../../../src/installer/node-version.ts";
import type { ProgramResult } from "../../../src/platform/programs.ts";

const MISSING: ProgramResult = { kind: "failed", code: "ENOEXEC" };
const prints = (stdout: string): ProgramResult => ({ kind: "ended", exit_code: 0, stdout, stderr: "" });

test.each([
  ["runs, and is new enough", prints("v24.0.0\n"), [], [], undefined],
  ["runs, and is too old", prints("v22.12.0\n"), ["node.js/v26.0.0"], [], "node-too-old"],
  ["runs, and is something else", prints("ls (GNU coreutils) 9.1\n"), ["ls"], [], "not-a-node"],
  [
    "for another processor",
    MISSING,
    ["x", "y https://nodejs.org/download/release/v26.1.0/node-v26.1.0.tar.gz"],
    [],
    undefined,
  ],
  ["is for another processor, its version across two pieces", MISSING, ["xx node.j", "s/v26.1.0 yy"], [], undefined],
  ["is for another processor, and too old", MISSING, ["node-v0.10.1 node.js/v18.1.0"], [], "node-too-old"],
  ["is for another processor, and something else", MISSING, ["x"], [], "not-a-node"],
  ["is for another processor, and all in a library", MISSING, ["x"], ["libnode.so.115"], undefined],
])("findWrongNode: a program that %s", async (_what, answer, pieces, libraries, code) => {
  const host = { pieces: () => Readable.from(pieces.map((piece) => Buffer.from(piece))) } as unknown as Disk;
  const found = await findWrongNode({ path: "/opt/node", libraries }, async () => answer, host);
  expect(found?.problem.code).toBe(code);
});
