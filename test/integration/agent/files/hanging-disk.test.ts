/**
 * A network drive that does not answer, not even with an error. A FUSE server that does not answer has the same effect.
 *
 * @module-tag needs/root
 */
import { type ChildProcess, execFile } from "node:child_process";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import type { StatusDocument } from "../../../../src/agent/status.ts";
import { agentWords, startWords } from "../../../support/programs/command.ts";
import { canMount } from "../../../support/programs/programs.ts";
import { mountDrive } from "../../../support/robot/hanging-drive.ts";
import { eventually, writeAtOnce } from "../../../support/robot/robot.ts";
import { createScene, expectOneRobot, type Scene } from "../../../support/service/scene.ts";

/** Longer than any wait of the program itself; a program that waits for the drive would never end. */
const PROMPTLY_MS = 30_000;

const run = promisify(execFile);

describe.skipIf(!canMount)("a drive that hangs (needs root and FUSE)", () => {
  test.concurrent("while the agent runs → status and log work; once the drive answers → healthy without a request", async () => {
    await using scene = await sceneOnDrive();
    const { robot, proxy } = scene;
    await using drive = await mountDrive(robot);
    await using daemon = await robot.startProcess({}, drive.prefix);
    await daemon.until(({ state }) => state === "registered");
    await drive.hang();
    const { summary, healthy } = await daemon.until(isWaiting);
    expect([summary.replace(robot.folder, ""), healthy]).toEqual([
      expect.stringMatching(/^Waiting for \/drive.*: the disk or network drive does not answer$/),
      false,
    ]);
    await daemon.untilLogged("disk-hangs");
    expect(await robot.run(["status"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/drive does not answer.*\[disk-hangs\]/),
    });
    const requestCount = proxy.requests.length;
    drive.answer();
    await daemon.until((status) => status.healthy);
    await daemon.untilLogged("disk-answers-again");
    expect(proxy.requests.length).toBe(requestCount);
    // The file that `robot.digest` reads, and the file behind the drive that the agent reads.
    for (const name of ["drive/arm.yaml", "backing/arm.yaml"]) await writeAtOnce(robot.path(name), "a: 2\n");
    await expectOneRobot(scene, daemon);
  });

  test.concurrent("mounted over a file while the agent runs → the agent reports it, and stops when told", async () => {
    await using scene = await sceneOnDrive("local/arm.yaml");
    const { robot } = scene;
    await mkdir(robot.path("drive"));
    await using drive = await mountDrive(robot);
    await using daemon = await robot.startProcess({}, drive.prefix);
    await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "events");
    const [enter, ...prefix] = [...drive.prefix, "mount", "--bind", robot.path("drive"), robot.path("local")] as const;
    await run(enter ?? "", prefix);
    await drive.hang();
    await daemon.until(isWaiting);
    expect(await daemon.stop()).toBe(0);
  });

  test.concurrent("SIGTERM → exits 0 at once", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await using daemon = await robot.startProcess({}, drive.prefix);
    await daemon.until(({ state }) => state === "registered");
    await drive.hang();
    await daemon.until(isWaiting);
    const askedAtMs = performance.now();
    expect(await daemon.stop()).toBe(0);
    expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
  });

  test.concurrent("at start → runs and says what it waits for; registers once the drive answers", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await drive.hang();
    await using daemon = await robot.startProcess({}, drive.prefix);
    await daemon.until(isWaiting);
    await daemon.untilLogged("disk-hangs");
    drive.answer();
    await expectOneRobot(scene, daemon);
  });

  test.concurrent("a command, interrupted → exit 130", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await drive.hang();
    await using command = startWords([...drive.prefix, ...agentWords(robot, ["digest"])]);
    await eventually(async () => ((await isBusy(command.child)) ? true : undefined), "the command to hang");
    command.child.kill("SIGINT");
    expect(await command.ended()).toBe(130);
  });

  test.concurrent("doctor → ends; only the check of the files has no result", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await drive.hang();
    const askedAtMs = performance.now();
    const { code, stdout } = await robot.runProcess(["doctor"], {}, drive.prefix);
    expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}files +not finished within [1-8] s, so the result is not known$/m);
    expect(stdout).toMatch(/^ok {4}service /m);
  });
});

function isWaiting({ summary }: StatusDocument): boolean {
  return summary.endsWith("does not answer");
}

/** A robot with a configuration file on a drive. The drive shows the content of the folder `backing`. */
async function sceneOnDrive(path = "drive/arm.yaml"): Promise<Scene> {
  const scene = await createScene({
    files: { [path]: "a: 1\n" },
    watch: "{settle_ms: 150, poll_s: 1, resync_s: 5}",
  });
  await mkdir(scene.robot.path("backing"));
  await writeAtOnce(scene.robot.path("backing/arm.yaml"), "a: 1\n");
  return scene;
}

/** True when a thread of the process waits for the drive. */
async function isBusy({ pid }: ChildProcess): Promise<boolean> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const waits = await Promise.all(tasks.map((task) => waitOf(pid, task)));
  return waits.some((wait) => wait.includes("fuse") || wait.includes("request_wait_answer"));
}

/** The kernel function in which a thread waits (proc(5), wchan). */
function waitOf(processId: number | undefined, task: number | string | undefined): Promise<string> {
  return readFile(`/proc/${processId}/task/${task}/wchan`, "utf8").catch(() => "");
}
