/**
 * Kills the built program with SIGKILL: interrupted.test.ts without simulation.
 *
 * @module-tag needs/root
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startWords } from "../../support/programs/command.ts";
import { AGENT_PROGRAM } from "../../support/programs/programs-built.ts";
import { canMount, inShell, withOwnMounts } from "../../support/programs/programs.ts";
import { eventually } from "../../support/robot/robot.ts";
import { times } from "../../support/run/tier.ts";
import { canFillImages, describeTree, openWorkshop, type Workshop } from "./image.ts";

const runFile = promisify(execFile);

function runArgv([program = "", ...args]: readonly string[]) {
  return runFile(program, args);
}

describe.runIf(canFillImages)("robot-policy-agent install, as a process (needs root and systemd)", () => {
  let workshop: Workshop;
  let node: string;
  /** An image with a complete installation, to compare with. */
  let complete: string;
  beforeAll(async () => {
    workshop = await openWorkshop();
    node = await workshop.makeNode();
    complete = await workshop.makeImage();
    await runArgv(installArgv(complete));
  });
  afterAll(async () => {
    await workshop[Symbol.asyncDispose]();
  });

  const installArgv = (image: string) => [process.execPath, AGENT_PROGRAM, "install", "--root", image, "--node", node];

  test.each(
    ["usr/local/lib/robot-policy-agent", "usr/local/share/zsh", "usr/local/bin/robot-policy-agent"].slice(
      0,
      times(1, 3),
    ),
  )("killed after writing %s → completed by the next run", async (place) => {
    const image = await workshop.makeImage();
    await using killed = startWords(installArgv(image));
    await expect.poll(() => existsSync(join(image, place)), { interval: 1 }).toBe(true);
    killed.child.kill("SIGKILL");
    await killed.ended();
    const { stdout } = await runArgv(installArgv(image));
    expect(stdout).toMatch(/is installed/);
    expect(describeTree(image)).toEqual(describeTree(complete));
  });

  test("installed program → complete, prints its version", async () => {
    const installed = join(complete, "usr/local/lib/robot-policy-agent/current/robot-policy-agent");
    const { stdout } = await runArgv([process.execPath, installed, "--version"]);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test.runIf(canMount).each([
    ["-o ro", "EROFS"],
    ["-o size=1m", "ENOSPC"],
    ["-o nr_inodes=15", "ENOSPC"],
  ])("filesystem mounted with %s → reported, nothing left behind (needs mounts)", async (mount, reason) => {
    const image = await workshop.makeImage();
    const before = describeTree(image);
    const argv = inShell(withOwnMounts, `mount -t tmpfs ${mount} none ${image}/usr/local/lib`, installArgv(image));
    await expect(runArgv(argv)).rejects.toThrow(reason);
    expect(describeTree(image)).toEqual(before);
  });

  test("two at once → the second is refused and changes nothing, the first completes", async () => {
    const image = await workshop.makeImage();
    const empty = describeTree(image);
    // Waits for its key on stdin.
    await using first = startWords([...installArgv(image), "--key-file", "-"]);
    await eventually(() => isLocked(image), "the first installation to hold the lock");
    await using second = startWords(installArgv(image));
    expect(await second.ended()).toBe(1);
    expect(second.output()).toContain("[busy]");
    expect(describeTree(image)).toEqual(empty);
    first.child.stdin?.end("sk_test_0123456789abcdef\n");
    expect(await first.ended()).toBe(0);
    expect(first.output()).toContain("is installed");
  });
});

/** Whether the image is locked (proc_locks(5)). */
async function isLocked(image: string): Promise<true | undefined> {
  const home = await stat(join(image, "root")).catch(() => stat(image));
  const locks = await readFile("/proc/locks", "utf8");
  return new RegExp(`FLOCK .*:${home.ino} `).test(locks) || undefined;
}
