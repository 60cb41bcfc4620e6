import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { openRootedDisk } from "../../../src/installer/disk/rooted-disk.ts";
import { chooseNode } from "../../../src/installer/node-runtime.ts";
import { isRoot } from "../../support/programs/programs.ts";

/** Up to its architecture: x86-64. */
const ELF = Buffer.from("7f454c4602010100000000000000000002003e00", "hex");

describe.runIf(isRoot)("chooseNode (needs root)", { tags: "needs/root" }, () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "node-runtime-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  test.each([
    ["/usr/bin/node", "system"],
    ["/opt/node-v26/bin/node", "system"],
    // The first line of the program could not name it.
    ["/opt/Node 26/bin/node", "copy"],
    ["/opt/robot/node_modules/node/bin/node", "copy"],
    ["/home/ann/node/bin/node", "copy"],
  ])("%s → %s", async (path, kind) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), ELF);
    await using disk = await openRootedDisk(root);
    const own = {
      platform: "linux",
      programPath: async () => "/program",
      nodePath: async () => path,
      nodeLibraries: () => [],
    };
    const node = await chooseNode({ given: null, isImage: false }, own, { disk, host: disk });
    expect(node.kind).toBe(kind);
  });
});
