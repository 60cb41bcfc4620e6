import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { applySteps, RestartFailed, type Site } from "../../../../src/installer/apply/apply.ts";
import { applyRemoval } from "../../../../src/installer/apply/removal.ts";
import { openSystem, ProgramFailed } from "../../../../src/installer/apply/system.ts";
import { type Content, measure } from "../../../../src/installer/disk/content.ts";
import type { Disk } from "../../../../src/installer/disk/disk.ts";
import { replaceFile, replaceLink } from "../../../../src/installer/disk/durable.ts";
import { openRootedDisk } from "../../../../src/installer/disk/rooted-disk.ts";
import type { Step } from "../../../../src/installer/plan/step.ts";
import { systemFiles } from "../../../../src/platform/files/files.ts";
import { systemPrograms } from "../../../../src/platform/programs.ts";
import { isRoot } from "../../../support/programs/programs.ts";

const ACCESS = { mode: 0o644, userId: 0, groupId: 0 };
const never = new AbortController().signal;
const onlyLook: ReadonlySet<string> = new Set(["look", "lookThrough", "readPart", "pieces", "list"]);

let folder: string;
let disk: Disk & AsyncDisposable;
/** Records every change of the disk, in order. */
let changes: string[];
let site: Site;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "durable-")));
  await mkdir(join(folder, "etc"));
  const rooted = await openRootedDisk(folder);
  changes = [];
  disk = new Proxy(rooted, {
    get(target, name: keyof Disk) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || typeof name === "symbol" || onlyLook.has(name)) return member;
      return (...args: readonly unknown[]) => {
        changes.push([name, ...args.filter((word) => typeof word === "string")].join(" "));
        return Reflect.apply(member, target, args);
      };
    },
  });
  site = { disk, host: disk, system: openSystem({ files: systemFiles, runProgram: systemPrograms }, disk, folder) };
});
afterEach(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const read = (path: string) => readFile(join(folder, path), "utf8");

async function writeStep(path: string, content: Content, replaces: boolean): Promise<Step> {
  return { kind: "write-file", path, mode: 0o644, owner: "root", replaces, ...(await measure(content, disk)) };
}

const text = (value: string): Content => ({ kind: "text", text: value });

async function changesOf(...steps: readonly Step[]): Promise<readonly string[]> {
  expect(await applySteps(steps, site, never, () => {})).toEqual({ kind: "untouched" });
  return changes;
}

describe.runIf(isRoot)("durable (needs root): each change syncs its folder", { tags: "needs/root" }, () => {
  test("replaceFile", async () => {
    await replaceFile(disk, "/etc/a", [Buffer.from("new")], ACCESS);
    expect(changes).toEqual([
      "remove /etc/a.robot-policy-agent-new",
      "create /etc/a.robot-policy-agent-new",
      "rename /etc/a.robot-policy-agent-new /etc/a",
      "syncDirectory /etc",
    ]);
  });

  test("replaceLink", async () => {
    await replaceLink(disk, "/etc/a", "b");
    expect(changes.slice(1)).toEqual([
      "makeSymbolicLink /etc/a.robot-policy-agent-new b",
      "rename /etc/a.robot-policy-agent-new /etc/a",
      "syncDirectory /etc",
    ]);
  });

  test("create a folder", async () => {
    const step: Step = { kind: "make-directory", path: "/etc/new", mode: 0o755, owner: "root" };
    expect(await changesOf(step)).toEqual(["makeDirectory /etc/new", "syncDirectory /etc"]);
  });

  test("install a new file", async () => {
    expect((await changesOf(await writeStep("/etc/a", text("a"), false))).slice(1)).toEqual([
      "create /etc/a.robot-policy-agent-new",
      "rename /etc/a.robot-policy-agent-new /etc/a",
      "syncDirectory /etc",
    ]);
  });

  test("replace a file", async () => {
    await writeFile(join(folder, "etc/a"), "old");
    expect(await changesOf(await writeStep("/etc/a", text("new"), true))).toEqual([
      "remove /etc/a.robot-policy-agent-new",
      "create /etc/a.robot-policy-agent-new",
      "rename /etc/a.robot-policy-agent-new /etc/a",
      "syncDirectory /etc",
    ]);
    expect(await read("etc/a")).toBe("new");
  });

  test("remove a file", async () => {
    await writeFile(join(folder, "etc/a"), "old");
    expect(await changesOf({ kind: "remove", path: "/etc/a" })).toEqual(["removeTree /etc/a", "syncDirectory /etc"]);
  });
});

describe("applySteps: a service that does not start", () => {
  const crash = () => Promise.reject(new ProgramFailed(["systemctl"], "it crashes"));
  function apply(step: Step) {
    const system: Site["system"] = {
      ...site.system,
      isConfigurationValid: async () => true,
      start: crash,
      restart: crash,
    };
    return applySteps([step], { ...site, system }, never, () => {});
  }
  const restart = (wasWell: boolean) => apply({ kind: "restart", unit: "a.service", wasWell });

  test("first start → reported, the installation stays", async () => {
    const outcome = await apply({ kind: "start", unit: "a.service" });
    expect(outcome).toEqual({ kind: "start-failed", reason: "systemctl: it crashes" });
  });

  test("previously active → error, so that the previous version is restored", async () => {
    await expect(restart(true)).rejects.toThrow(RestartFailed);
  });

  test("previously inactive → reported, the new version stays", async () => {
    expect(await restart(false)).toEqual({ kind: "start-failed", reason: "systemctl: it crashes" });
  });
});

test.runIf(isRoot)(
  "applySteps (needs root): program changed since it was hashed → not installed",
  { tags: "needs/root" },
  async () => {
    await writeFile(join(folder, "program"), "measured");
    const copy = await writeStep("/etc/program", { kind: "copy", from: "/program" }, false);
    await writeFile(join(folder, "program"), "replaced");
    await expect(applySteps([copy], site, never, () => {})).rejects.toThrow("it changed while it was copied");
    expect(await readdir(join(folder, "etc"))).not.toContain("program");
  },
);

test("applyRemoval: power cut after the removal → the tree stays removed", async () => {
  await mkdir(join(folder, "etc/agent/below"), { recursive: true });
  await applyRemoval({ kind: "tree", path: "/etc/agent" }, site);
  expect(changes).toEqual(["removeTree /etc/agent", "syncDirectory /etc"]);
  expect(await readdir(join(folder, "etc"))).toEqual([]);
});
