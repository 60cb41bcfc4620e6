import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { applySteps } from "../../../src/installer/apply.ts";
import { measure } from "../../../src/installer/content.ts";
import type { Content } from "../../../src/installer/content.ts";
import type { Disk } from "../../../src/installer/disk.ts";
import { replaceFile, replaceLink } from "../../../src/installer/durable.ts";
import { undoOf, writeJournal } from "../../../src/installer/journal.ts";
import { recover } from "../../../src/installer/recover.ts";
import { openRootedDisk } from "../../../src/installer/rooted-disk.ts";
import type { Step } from "../../../src/installer/step.ts";
import { isRoot } from "../../support/programs.ts";

const ACCESS = { mode: 0o644, user_id: 0, group_id: 0 };
const never = new AbortController().signal;
const onlyLook: ReadonlySet<string> = new Set(["look", "lookThrough", "readPart", "pieces", "list", "room"]);

let folder: string;
let disk: Disk & AsyncDisposable;
/** Every change of the disk, in order. */
let changes: string[];
let site: Parameters<typeof applySteps>[2];
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "durable-")));
  await mkdir(join(folder, "etc"));
  await mkdir(join(folder, "var/lib/robot-policy-agent-install"), { recursive: true });
  const rooted = await openRootedDisk(folder);
  changes = [];
  disk = new Proxy(rooted, {
    get(target, name: keyof Disk) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || typeof name === "symbol" || onlyLook.has(name)) return member;
      return (...words: readonly unknown[]) => {
        changes.push([name, ...words.filter((word) => typeof word === "string")].join(" "));
        return Reflect.apply(member, target, words);
      };
    },
  });
  site = { disk, host: disk, system: null };
});
afterEach(async () => {
  await disk[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const read = (path: string) => readFile(join(folder, path), "utf8");

async function writeStep(path: string, content: Content, replaces: boolean): Promise<Step> {
  return { kind: "write-file", path, mode: 0o644, owner: "root", replaces, ...(await measure(content, disk)) };
}

const text = (words: string): Content => ({ kind: "text", text: words });

/** What the steps change, without the journal that is written before and after them. */
async function changesOf(...steps: readonly Step[]): Promise<readonly string[]> {
  const applied = await applySteps(steps, "1.0.0", site, never, () => {});
  expect(applied).toEqual({ kind: "applied", service: { kind: "untouched" } });
  return changes.filter((change) => !change.includes("robot-policy-agent-install"));
}

describe.runIf(isRoot)("durable (needs root): a name is on the disk when the change is done", () => {
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

  test("a folder", async () => {
    const step: Step = { kind: "make-directory", path: "/etc/new", mode: 0o755, owner: "root" };
    expect(await changesOf(step)).toEqual(["makeDirectory /etc/new", "syncDirectory /etc"]);
  });

  test("a new file", async () => {
    expect((await changesOf(await writeStep("/etc/a", text("a"), false))).slice(1)).toEqual([
      "create /etc/a.robot-policy-agent-new",
      "rename /etc/a.robot-policy-agent-new /etc/a",
      "syncDirectory /etc",
    ]);
  });

  test("a file in the place of another, which has a second name before", async () => {
    await writeFile(join(folder, "etc/a"), "old");
    expect(await changesOf(await writeStep("/etc/a", text("new"), true))).toEqual([
      "remove /etc/a.robot-policy-agent-new",
      "create /etc/a.robot-policy-agent-new",
      "remove /etc/a.robot-policy-agent-before",
      "link /etc/a /etc/a.robot-policy-agent-before",
      "syncDirectory /etc",
      "rename /etc/a.robot-policy-agent-new /etc/a",
      "syncDirectory /etc",
      "remove /etc/a.robot-policy-agent-before",
    ]);
    expect(await read("etc/a")).toBe("new");
  });

  test("the journal, before the first step", async () => {
    await applySteps([await writeStep("/etc/a", text("a"), false)], "1.0.0", site, never, () => {});
    const first = changes.findIndex((change) => change.includes("/etc/"));
    const journal = "/var/lib/robot-policy-agent-install/journal.json";
    expect(changes.slice(0, first).slice(-2)).toEqual([
      `rename ${journal}.robot-policy-agent-new ${journal}`,
      "syncDirectory /var/lib/robot-policy-agent-install",
    ]);
  });
});

test.runIf(isRoot)(
  "applySteps (needs root): a program that changed since it was measured is not installed, and everything is taken back",
  async () => {
    await writeFile(join(folder, "program"), "measured");
    await writeFile(join(folder, "etc/a"), "old");
    const first = await writeStep("/etc/a", text("new"), true);
    const copy = await writeStep("/etc/program", { kind: "copy", from: "/program" }, false);
    await writeFile(join(folder, "program"), "replaced");
    expect(await applySteps([first, copy], "1.0.0", site, never, () => {})).toEqual({
      kind: "taken-back",
      reason: expect.stringContaining("changed while it was copied"),
      remains: [],
    });
    expect([await readdir(join(folder, "etc")), await read("etc/a")]).toEqual([["a"], "old"]);
  },
);

describe.runIf(isRoot)("recover (needs root): after an installation that was cut short", () => {
  beforeEach(async () => {
    await mkdir(join(folder, "etc/new"));
    await chmod(join(folder, "etc/new"), 0o755);
    const step: Step = { kind: "make-directory", path: "/etc/new", mode: 0o755, owner: "root" };
    await writeJournal(disk, { schema_version: 1, version: "1.0.0", phase: "applying", undo: [undoOf(step)] });
    changes.length = 0;
  });

  test("a dry run tells of it and changes nothing", async () => {
    expect(await recover(site, true)).toEqual({ kind: "recovered", interrupted: "1.0.0" });
    expect(changes).toEqual([]);
  });

  test("any other run puts everything back, once", async () => {
    expect(await recover(site, false)).toEqual({ kind: "recovered", interrupted: "1.0.0" });
    expect(await readdir(join(folder, "etc"))).toEqual([]);
    expect(await recover(site, false)).toEqual({ kind: "recovered", interrupted: null });
  });

  test("a dry run does not even tidy up where nothing was cut short", async () => {
    await recover(site, false);
    changes.length = 0;
    await mkdir(join(folder, "var/lib/robot-policy-agent-install"));
    expect(await recover(site, true)).toEqual({ kind: "recovered", interrupted: null });
    expect(changes).toEqual([]);
  });
});
