import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Disk } from "../../../src/installer/disk/disk.ts";
import { openRootedDisk } from "../../../src/installer/disk/rooted-disk.ts";
import { findDistribution, SHARED } from "../../../src/installer/distribution.ts";

const LAUNCHER = "/dist/robot-policy-agent.cjs";
const MAIN = "lib/robot-policy-agent.cjs";

let folder: string;
let disk: Disk & AsyncDisposable;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "distribution-")));
  disk = await openRootedDisk(folder);
  await write("robot-policy-agent.cjs", '#!/usr/bin/env node\nrequire("./lib/robot-policy-agent.cjs");\n');
  await write(MAIN, "");
  for (const name of Object.values(SHARED)) await write(name, name);
});
afterEach(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function write(name: string, text: string): Promise<void> {
  const path = join(folder, "dist", name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** Names of the program's parts, or the reason why it cannot be installed. */
async function found(launcher = LAUNCHER): Promise<readonly string[]> {
  const distribution = await findDistribution(disk, launcher);
  if (distribution.kind !== "distribution") return [distribution.problem.code, distribution.problem.where ?? ""];
  return [...distribution.files.keys()].filter((name) => name.startsWith("lib/")).toSorted();
}

describe("findDistribution", () => {
  test("launcher → without its first line, because the runtime is elsewhere", async () => {
    const distribution = await findDistribution(disk, LAUNCHER);
    expect(distribution).toMatchObject({
      launcher: 'require("./lib/robot-policy-agent.cjs");\n',
      units: { service: SHARED.service, firstBoot: SHARED.firstBoot },
    });
  });

  test("late-loaded parts → all found, also if they load each other", async () => {
    await write(MAIN, 'require("./zod.cjs"); require("./zod.cjs"); require("./undici.cjs");');
    await write("lib/zod.cjs", 'require("./undici.cjs"); require("./robot-policy-agent.cjs");');
    await write("lib/undici.cjs", 'require("./zod.cjs"); require("node:fs");');
    await write("lib/nobody-loads-it.cjs", "");
    expect(await found()).toEqual(["lib/robot-policy-agent.cjs", "lib/undici.cjs", "lib/zod.cjs"]);
  });

  test.each(["robot-policy-agent.cjs", MAIN, SHARED.sysusers, SHARED.manifest])(
    "%s is missing → refused",
    async (name) => {
      await rm(join(folder, "dist", name));
      expect(await found()).toEqual(["incomplete-program", `/dist/${name}`]);
    },
  );

  test("a late-loaded part is missing → refused", async () => {
    await write(MAIN, 'require("./zod.cjs");');
    expect(await found()).toEqual(["incomplete-program", "/dist/lib/zod.cjs"]);
  });

  test("launcher without a #! line → refused", async () => {
    await write("robot-policy-agent.cjs", 'require("./lib/robot-policy-agent.cjs");\n');
    expect(await found()).toEqual(["incomplete-program", LAUNCHER]);
  });

  test.each(["/dist/agent.ts", "/elsewhere/robot-policy-agent.cjs"])("%s → not a built program", async (path) => {
    expect(await found(path)).toEqual(["not-built", path]);
  });
});
