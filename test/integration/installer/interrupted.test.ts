import { execFile } from "node:child_process";
import { lstatSync, readlinkSync } from "node:fs";
import { appendFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isLong, times } from "../../support/run/tier.ts";
import { type Break, breakingDisk, Killed } from "./breaking-disk.ts";
import {
  canFillImages,
  describeTree,
  openWorkshop,
  type Ran,
  runInstall,
  runUninstall,
  type Setting,
  type Workshop,
} from "./image.ts";

const run = promisify(execFile);

/** More runs than this mean an endless loop. */
const CHANGE_LIMIT = 2000;
/** A run breaks at one in so many of these, then of the others, at others in each test. */
const FIRST_CHANGES = 4;
const FIRST_STRIDE = times(FIRST_CHANGES, 1);
const STRIDE = times(131, 1);
let breakings = 0;
/** At every change. */
const LONG_LIMIT_MS = 600_000;
const KEY = "sk_test_0123456789abcdef";
const EDITED_UNIT = "usr/local/lib/systemd/system/robot-policy-agent-setup.service";

// Scenario 34: a power cut at each write.
describe.runIf(canFillImages)(
  "an installation that is cut short (needs root and systemd)",
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
      ["the first installation", async () => workshop.makeImage(), () => first],
      [
        "an upgrade over edits",
        async () => {
          const root = await workshop.makeImage();
          await runInstall({ root, keyStdin: true }, first);
          await appendFile(join(root, EDITED_UNIT), "# mine\n");
          return root;
        },
        () => second,
      ],
    ] as const;

    test.each(scenes)("%s, killed at any change, is completed by the next one", async (_what, prepare, setting) => {
      const template = await prepare();
      const wanted = await treeAfter(template, (root) => install(root, setting()));
      const killed = await breakEach(
        template,
        "killed",
        (root, own) => install(root, { ...setting(), ...own }),
        async (root) => {
          expect((await install(root, setting())).exitCode).toBe(0);
          expect(describeTree(root)).toEqual(wanted);
        },
      );
      expect(killed).toBeGreaterThan(50);
    });

    test.each(scenes)("%s, killed at any change, is taken off by uninstall", async (_what, prepare, setting) => {
      const template = await prepare();
      const wanted = await treeAfter(template, async (root) => {
        await runUninstall({ root, purge: true }, setting());
      });
      await breakEach(
        template,
        "killed",
        (root, own) => install(root, { ...setting(), ...own }),
        async (root) => {
          expect((await runUninstall({ root, purge: true }, setting())).exitCode).toBe(0);
          expect(describeTree(root)).toEqual(wanted);
        },
      );
    });

    test.each(scenes)(
      "%s, when any change fails, says so, and the next run goes on",
      async (_what, prepare, setting) => {
        const template = await prepare();
        const before = describeTree(template);
        const done = await treeAfter(template, (root) => install(root, setting()));
        await breakEach(
          template,
          "failing",
          (root, own) => install(root, { ...setting(), ...own }),
          async (root, ran) => {
            if (ran?.exitCode !== 0) {
              expect(ran?.stderr).toContain("ENOSPC");
              // Before the switch the old version is current and complete.
              if (!isSwitched(root, template)) expect(programOf(describeTree(root))).toEqual(programOf(before));
            }
            expect((await install(root, setting())).exitCode).toBe(0);
            expect(describeTree(root)).toEqual(done);
          },
        );
      },
    );

    test("a full disk while the program is copied leaves nothing behind", async () => {
      const root = await workshop.makeImage();
      const before = describeTree(root);
      const { openDisk } = breakingDisk(root, { kind: "failing", at: 60, code: "ENOSPC" });
      const { exitCode, stderr } = await install(root, { ...first, openDisk });
      expect(exitCode).toBe(1);
      expect(stderr).toContain("(the disk is full)");
      expect(describeTree(root)).toEqual(before);
    });

    test("uninstall, killed at any change, is completed by a repeat", async () => {
      const [, prepare, setting] = scenes[1];
      const template = await prepare();
      const wanted = await treeAfter(template, (root) => runUninstall({ root, purge: true }, setting()));
      const uninstall = (root: string, own: Partial<Setting>) =>
        runUninstall({ root, purge: true }, { ...setting(), ...own });
      await breakEach(template, "killed", uninstall, async (root) => {
        expect((await uninstall(root, {})).exitCode).toBe(0);
        expect(describeTree(root)).toEqual(wanted);
      });
    });

    test("edits between the power cut and the next run are kept", async () => {
      const root = await workshop.makeImage();
      await install(root, first);
      const unit = join(root, "usr/local/lib/systemd/system/robot-policy-agent.service");
      // One of the last changes of an upgrade: the units are new.
      const changes = await countChanges(root, second);
      await expect(
        install(root, { ...second, openDisk: breakingDisk(root, { kind: "killed", at: changes - 10 }).openDisk }),
      ).rejects.toThrow(Killed);
      expect(await readFile(unit, "utf8")).toContain("# 1.1.0");
      await writeFile(unit, "[Unit]\n# mine\n");
      expect((await install(root, second)).exitCode).toBe(0);
      expect(await readFile(unit, "utf8")).toBe("[Unit]\n# mine\n");
    });

    test("Ctrl-C while the program is copied leaves nothing behind, and exits with 130", async () => {
      const root = await workshop.makeImage();
      const before = describeTree(root);
      const { exitCode, stderr } = await install(root, { ...first, signal: AbortSignal.abort() });
      expect(exitCode).toBe(130);
      expect(stderr).toContain("[interrupted]");
      expect(describeTree(root)).toEqual(before);
    });

    test.each(["made-folders", "switching"])(
      "notes that somebody else wrote (%s) lead to nothing outside",
      async (name) => {
        const root = await workshop.makeImage();
        await install(root, first);
        const outside = await workshop.makeImage();
        const kept = describeTree(outside);
        await mkdir(join(outside, "empty"));
        await writeFile(
          join(root, "var/lib/robot-policy-agent-install", name),
          `/../${basename(outside)}/empty\n../x\n`,
        );
        expect((await install(root, second)).exitCode).toBe(0);
        expect((await runUninstall({ root, purge: true }, second)).exitCode).toBe(0);
        expect(describeTree(outside)).toEqual(["/empty/ 755 0:0", ...kept].toSorted());
      },
    );

    function install(root: string, setting: Setting): Promise<Ran> {
      return runInstall({ root, keyStdin: true }, setting);
    }

    async function copyOf(template: string): Promise<string> {
      const root = await workshop.makeImage();
      await rm(root, { recursive: true });
      // fs.cp makes copies with the owner of this process.
      await run("cp", ["-a", template, root]);
      return root;
    }

    async function countChanges(template: string, setting: Setting): Promise<number> {
      const root = await copyOf(template);
      const disk = breakingDisk(root, null);
      await install(root, { ...setting, openDisk: disk.openDisk });
      return disk.count();
    }

    async function treeAfter(template: string, work: (root: string) => Promise<unknown>): Promise<readonly string[]> {
      const root = await copyOf(template);
      await work(root);
      const tree = describeTree(root);
      await rm(root, { recursive: true });
      return tree;
    }

    /** Breaks a run at its first change, at its second, and so on until one is not broken. @returns how many there are. */
    async function breakEach(
      template: string,
      kind: Break["kind"],
      work: (root: string, own: Partial<Setting>) => Promise<Ran>,
      look: (root: string, ran: Ran | null) => Promise<void>,
    ): Promise<number> {
      for (const at of breakingPoints()) {
        const root = await copyOf(template);
        const disk = breakingDisk(root, kind === "killed" ? { kind, at } : { kind, at, code: "ENOSPC" });
        let ran: Ran | null = null;
        try {
          ran = await work(root, { openDisk: disk.openDisk });
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
        }
        try {
          await look(root, ran);
        } catch (cause) {
          throw new Error(`broken at change ${at}: ${ran?.stderr ?? "killed"}`, { cause });
        }
        await rm(root, { recursive: true });
        if (disk.count() <= at) return at;
      }
      throw new Error("it never ended");
    }
  },
);

/** Numbers of changes, ascending. */
function* breakingPoints(): Generator<number> {
  breakings += 1;
  for (let at = breakings % FIRST_STRIDE; at < FIRST_CHANGES; at += FIRST_STRIDE) yield at;
  for (let at = FIRST_CHANGES + ((7 * breakings) % STRIDE); at < CHANGE_LIMIT; at += STRIDE) yield at;
}

/** The targets of the program's link before and after. */
function isSwitched(root: string, template: string): boolean {
  const current = (folder: string) => {
    const path = join(folder, "usr/local/lib/robot-policy-agent/current");
    return lstatSync(path, { throwIfNoEntry: false }) === undefined ? null : readlinkSync(path);
  };
  return current(root) !== current(template);
}

/** The installed program, without the one that is being copied beside it. */
function programOf(tree: readonly string[]): readonly string[] {
  const current = tree.find((line) => line.includes("/current -> "))?.split("-> versions/")[1];
  return current === undefined ? [] : tree.filter((line) => line.includes(`/versions/${current}`));
}
