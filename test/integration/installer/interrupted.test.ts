/** @module-tag needs/root */
import { execFileSync } from "node:child_process";
import { appendFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemPrograms } from "../../../src/platform/programs.ts";
import { isLong, times } from "../../support/run/tier.ts";
import { type Break, breakMachine, Killed } from "./breaking-machine.ts";
import {
  canFillImages,
  type CommandResult,
  describeTree,
  openWorkshop,
  runInstall,
  runUninstall,
  type Setting,
  type Workshop,
} from "./image.ts";

/** More changes than this mean an endless loop. */
const CHANGE_LIMIT = 2000;
/** `--all` breaks at one change in this many, each test at other ones; the long tier breaks at every change. */
const STRIDE = times(61, 1);
const LONG_LIMIT_MS = 600_000;
const KEY = "sk_test_0123456789abcdef";

describe.runIf(canFillImages)(
  "scenario 34: interrupted at each write (needs root and systemd)",
  isLong ? { timeout: LONG_LIMIT_MS } : {},
  () => {
    let workshop: Workshop;
    let first: Setting;
    let second: Setting;
    let breakings = 0;
    beforeAll(async () => {
      workshop = await openWorkshop();
      first = { dist: await workshop.makeDistribution("1.0.0"), node: await workshop.makeNode(), input: KEY };
      const dist = await workshop.makeDistribution("1.1.0");
      for (const unit of ["robot-policy-agent.service", "robot-policy-agent-setup.service"])
        await appendFile(join(dist, "share/systemd", unit), "# 1.1.0\n");
      second = { ...first, dist, version: "1.1.0", input: `${KEY}2` };
    });
    afterAll(async () => workshop[Symbol.asyncDispose]());

    const install = (root: string, setting: Setting) => runInstall({ root, keyFile: "-" }, setting);
    const purge = (root: string, setting: Setting) => runUninstall({ root, purge: true }, setting);

    /** An image with the first version, which its owner has configured. */
    async function makeRobot(): Promise<string> {
      const root = await workshop.makeImage();
      await install(root, first);
      await writeFile(join(root, "etc/robot-policy-agent/config.yaml"), "mine\n");
      return root;
    }

    const SCENES = [
      { what: "first installation", prepare: () => workshop.makeImage(), work: install, setting: () => first },
      { what: "upgrade", prepare: makeRobot, work: install, setting: () => second },
      { what: "uninstall --purge", prepare: makeRobot, work: purge, setting: () => first },
    ] as const;
    const BREAKS = ["killed", "failing"] as const;
    const CASES = SCENES.flatMap((scene) => BREAKS.map((kind) => ({ scene, kind })));

    test.each(CASES)(
      "$scene.what $kind at any change → completed by a repeat, removed by uninstall",
      async ({ scene, kind }) => {
        const { prepare, work } = scene;
        const setting = scene.setting();
        const template = await prepare();
        const before = programOf(describeTree(template));
        const completed = await treeAfter(template, (root) => work(root, setting));
        const removed = await treeAfter(template, (root) => purge(root, setting));
        breakings += 7;
        for (let at = breakings % STRIDE; ; at += STRIDE) {
          expect(at).toBeLessThan(CHANGE_LIMIT);
          const root = await copyOf(template);
          const { result, isOver } = await workBroken(root, setting, work, { kind, at });
          if (result !== null && result.exitCode !== 0) expect(result.stderr, `at change ${at}`).toContain("ENOSPC");
          const tree = describeTree(root);
          // Until the switch, the old version is current and complete.
          if (work === install && currentOf(tree) === before.current) expect(programOf(tree)).toEqual(before);
          expect(await treeAfter(root, (copy) => purge(copy, setting)), `at change ${at}`).toEqual(removed);
          expect((await work(root, setting)).exitCode).toBe(0);
          expect(describeTree(root), `at change ${at}`).toEqual(completed);
          await rm(root, { recursive: true });
          if (isOver) break;
        }
      },
    );

    test.each([
      ["disk full", 1, "ENOSPC"],
      ["Ctrl-C", 130, "[interrupted]"],
    ])("%s while the program is copied → nothing left behind", async (what, code, shown) => {
      const root = await workshop.makeImage();
      const before = describeTree(root);
      const machine = breakMachine({ kind: "failing", at: 30 }, systemPrograms);
      const more = what === "Ctrl-C" ? { signal: AbortSignal.abort() } : machine;
      const { exitCode, stderr } = await install(root, { ...first, ...more });
      expect([exitCode, stderr]).toEqual([code, expect.stringContaining(shown)]);
      expect(describeTree(root)).toEqual(before);
    });

    test("forged note with a path out of the image → nothing outside changes", async () => {
      const root = await makeRobot();
      const outside = await workshop.makeImage();
      const before = describeTree(outside);
      const note = join(root, "usr/local/lib/robot-policy-agent/unfinished");
      await writeFile(note, `../../../../../../${basename(outside)}\n`);
      expect((await install(root, second)).exitCode).toBe(0);
      expect((await purge(root, second)).exitCode).toBe(0);
      expect(describeTree(outside)).toEqual(before);
    });

    async function copyOf(template: string): Promise<string> {
      const root = await workshop.makeImage();
      await rm(root, { recursive: true });
      // fs.cp does not keep the owner.
      execFileSync("cp", ["-a", template, root]);
      return root;
    }

    async function treeAfter(template: string, work: (root: string) => Promise<unknown>): Promise<readonly string[]> {
      const root = await copyOf(template);
      await work(root);
      const tree = describeTree(root);
      await rm(root, { recursive: true });
      return tree;
    }
  },
);

/** @returns `isOver` for a run that had no such change. */
async function workBroken(
  root: string,
  setting: Setting,
  work: (root: string, setting: Setting) => Promise<CommandResult>,
  broken: Break,
): Promise<{ readonly result: CommandResult | null; readonly isOver: boolean }> {
  const machine = breakMachine(broken, systemPrograms);
  try {
    const result = await work(root, { ...setting, ...machine });
    return { result, isOver: machine.count() <= broken.at };
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    return { result: null, isOver: false };
  }
}

function currentOf(tree: readonly string[]): string | undefined {
  return tree.find((line) => line.includes("/current -> "))?.split("-> versions/")[1];
}

/** The current version and its files, without a version that is being copied. */
function programOf(tree: readonly string[]) {
  const current = currentOf(tree);
  return { current, files: current === undefined ? [] : tree.filter((line) => line.includes(`/versions/${current}`)) };
}
