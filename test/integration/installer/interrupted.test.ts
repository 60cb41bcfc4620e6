/** @module-tag needs/root */
import { execFile } from "node:child_process";
import { lstatSync, readlinkSync } from "node:fs";
import { appendFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemPrograms } from "../../../src/platform/programs.ts";
import { isLong, times } from "../../support/run/tier.ts";
import { type Break, breakMachine, Killed } from "./breaking-machine.ts";
import {
  canFillImages,
  describeTree,
  openWorkshop,
  type CommandResult,
  runInstall,
  runUninstall,
  type Setting,
  type Workshop,
} from "./image.ts";

const run = promisify(execFile);

/** More changes than this mean an endless loop. */
const CHANGE_LIMIT = 2000;
/** The gate breaks at one of the first changes, then at one in `STRIDE`; each test at other ones. The long tier breaks at every change. */
const FIRST_CHANGES = 4;
const FIRST_STRIDE = times(FIRST_CHANGES, 1);
const STRIDE = times(131, 1);
let breakings = 0;
const LONG_LIMIT_MS = 600_000;
const KEY = "sk_test_0123456789abcdef";
const CONFIGURATION = "etc/robot-policy-agent/config.yaml";

describe.runIf(canFillImages)(
  "scenario 34: interrupted at each write (needs root and systemd)",
  isLong ? { timeout: LONG_LIMIT_MS } : {},
  () => {
    let workshop: Workshop;
    let first: Setting;
    let second: Setting;
    beforeAll(async () => {
      workshop = await openWorkshop();
      first = { dist: await workshop.makeDistribution("1.0.0"), node: await workshop.makeNode(), input: KEY };
      const dist = await workshop.makeDistribution("1.1.0");
      await appendFile(join(dist, "share/systemd/robot-policy-agent.service"), "# 1.1.0\n");
      await appendFile(join(dist, "share/systemd/robot-policy-agent-setup.service"), "# 1.1.0\n");
      second = { ...first, dist, version: "1.1.0", input: `${KEY}2` };
    });
    afterAll(async () => workshop[Symbol.asyncDispose]());

    const scenes = [
      ["first installation", async () => workshop.makeImage(), () => first],
      [
        "upgrade",
        async () => {
          const root = await workshop.makeImage();
          await runInstall({ root, keyStdin: true }, first);
          await writeFile(join(root, CONFIGURATION), "mine\n");
          return root;
        },
        () => second,
      ],
    ] as const;

    test.each(scenes)("%s killed at any change → completed by the next run", async (_what, prepare, setting) => {
      const template = await prepare();
      const expected = await treeAfter(template, (root) => install(root, setting()));
      const changes = await breakEach(
        template,
        "killed",
        (root, own) => install(root, { ...setting(), ...own }),
        async (root) => {
          expect((await install(root, setting())).exitCode).toBe(0);
          expect(describeTree(root)).toEqual(expected);
        },
      );
      expect(changes).toBeGreaterThan(50);
    });

    test.each(scenes)("%s killed at any change → removed by uninstall", async (_what, prepare, setting) => {
      const template = await prepare();
      const expected = await treeAfter(template, async (root) => {
        await runUninstall({ root, purge: true }, setting());
      });
      await breakEach(
        template,
        "killed",
        (root, own) => install(root, { ...setting(), ...own }),
        async (root) => {
          expect((await runUninstall({ root, purge: true }, setting())).exitCode).toBe(0);
          expect(describeTree(root)).toEqual(expected);
        },
      );
    });

    test.each(scenes)("%s, any change fails → reported, completed by the next run", async (_what, prepare, setting) => {
      const template = await prepare();
      const before = describeTree(template);
      const expected = await treeAfter(template, (root) => install(root, setting()));
      await breakEach(
        template,
        "failing",
        (root, own) => install(root, { ...setting(), ...own }),
        async (root, result) => {
          if (result?.exitCode !== 0) {
            expect(result?.stderr).toContain("ENOSPC");
            // Until the switch, the old version is current and complete.
            if (!isSwitched(root, template)) expect(programOf(describeTree(root))).toEqual(programOf(before));
          }
          expect((await install(root, setting())).exitCode).toBe(0);
          expect(describeTree(root)).toEqual(expected);
        },
      );
    });

    test("disk full while the program is copied → nothing left behind", async () => {
      const root = await workshop.makeImage();
      const before = describeTree(root);
      const machine = breakMachine({ kind: "failing", at: 60 }, systemPrograms);
      const { exitCode, stderr } = await install(root, { ...first, ...machine });
      expect(exitCode).toBe(1);
      expect(stderr).toContain("(the disk is full)");
      expect(describeTree(root)).toEqual(before);
    });

    test("uninstall killed at any change → completed by a repeat", async () => {
      const [, prepare, setting] = scenes[1];
      const template = await prepare();
      const expected = await treeAfter(template, (root) => runUninstall({ root, purge: true }, setting()));
      const uninstall = (root: string, own: Partial<Setting>) =>
        runUninstall({ root, purge: true }, { ...setting(), ...own });
      await breakEach(template, "killed", uninstall, async (root) => {
        expect((await uninstall(root, {})).exitCode).toBe(0);
        expect(describeTree(root)).toEqual(expected);
      });
    });

    test("Ctrl-C while the program is copied → exits with 130, nothing left behind", async () => {
      const root = await workshop.makeImage();
      const before = describeTree(root);
      const { exitCode, stderr } = await install(root, { ...first, signal: AbortSignal.abort() });
      expect(exitCode).toBe(130);
      expect(stderr).toContain("[interrupted]");
      expect(describeTree(root)).toEqual(before);
    });

    test("forged note with a path out of the image → nothing outside changes", async () => {
      const root = await workshop.makeImage();
      await install(root, first);
      const outside = await workshop.makeImage();
      const before = describeTree(outside);
      await writeFile(
        join(root, "usr/local/lib/robot-policy-agent/unfinished"),
        `../../../../../../${basename(outside)}\n`,
      );
      expect((await install(root, second)).exitCode).toBe(0);
      expect((await runUninstall({ root, purge: true }, second)).exitCode).toBe(0);
      expect(describeTree(outside)).toEqual(before);
    });

    function install(root: string, setting: Setting): Promise<CommandResult> {
      return runInstall({ root, keyStdin: true }, setting);
    }

    async function copyOf(template: string): Promise<string> {
      const root = await workshop.makeImage();
      await rm(root, { recursive: true });
      // fs.cp does not keep the owner.
      await run("cp", ["-a", template, root]);
      return root;
    }

    async function treeAfter(template: string, work: (root: string) => Promise<unknown>): Promise<readonly string[]> {
      const root = await copyOf(template);
      await work(root);
      const tree = describeTree(root);
      await rm(root, { recursive: true });
      return tree;
    }

    /** Breaks one run at each breaking point, until a run has no such change. @returns the number of that point. */
    async function breakEach(
      template: string,
      kind: Break["kind"],
      work: (root: string, own: Partial<Setting>) => Promise<CommandResult>,
      verify: (root: string, result: CommandResult | null) => Promise<void>,
    ): Promise<number> {
      for (const at of breakingPoints()) {
        const root = await copyOf(template);
        const machine = breakMachine({ kind, at }, systemPrograms);
        let result: CommandResult | null = null;
        try {
          result = await work(root, machine);
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
        }
        try {
          await verify(root, result);
        } catch (cause) {
          throw new Error(`broken at change ${at}: ${result?.stderr ?? "killed"}`, { cause });
        }
        await rm(root, { recursive: true });
        if (machine.count() <= at) return at;
      }
      throw new Error(`more than ${CHANGE_LIMIT} changes`);
    }
  },
);

/** The numbers of the changes to break at, ascending. */
function* breakingPoints(): Generator<number> {
  breakings += 1;
  for (let at = breakings % FIRST_STRIDE; at < FIRST_CHANGES; at += FIRST_STRIDE) yield at;
  for (let at = FIRST_CHANGES + ((7 * breakings) % STRIDE); at < CHANGE_LIMIT; at += STRIDE) yield at;
}

/** Whether the link to the current version has changed. */
function isSwitched(root: string, template: string): boolean {
  const current = (folder: string) => {
    const path = join(folder, "usr/local/lib/robot-policy-agent/current");
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : readlinkSync(path);
  };
  return current(root) !== current(template);
}

/** The current version's files, without a version that is being copied. */
function programOf(tree: readonly string[]): readonly string[] {
  const current = tree.find((line) => line.includes("/current -> "))?.split("-> versions/")[1];
  return current === undefined ? [] : tree.filter((line) => line.includes(`/versions/${current}`));
}
