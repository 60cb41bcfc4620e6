/** A network drive whose server is gone: it answers nothing, not even an error. FUSE with a server that does not answer does the same. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdir, readFile, readdir, stat } from "node:fs/promises";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import type { StatusDocument } from "../../../../src/agent/status.ts";
import { endWithTest } from "../../../support/programs/children.ts";
import { agentWords, startWords } from "../../../support/programs/command.ts";
import { canMount, withOwnMounts } from "../../../support/programs/programs.ts";
import { eventually, type Robot, writeAtOnce } from "../../../support/robot/robot.ts";
import { createScene, expectOneRobot, type Scene } from "../../../support/service/scene.ts";

/** A drive that hangs would hold it up for ever; what the program itself waits is a part of this on any machine. */
const PROMPTLY_MS = 30_000;

const run = promisify(execFile);

interface Drive extends AsyncDisposable {
  /** Words before those of a program that is to see the drive. */
  readonly words: readonly string[];
  hang(): Promise<void>;
  answer(): void;
}

describe.skipIf(!canMount)("a drive that hangs (needs root and FUSE)", () => {
  test.concurrent("while the agent runs: status, log and watchdog's loop go on, and it goes on itself once the drive answers", async () => {
    await using scene = await sceneOnDrive();
    const { robot, proxy } = scene;
    await using drive = await mountDrive(robot);
    await using daemon = await robot.startProcess({}, drive.words);
    await daemon.until(({ state }) => state === "registered");
    await drive.hang();
    const { summary, healthy } = await daemon.until(isWaiting);
    expect([summary.replace(robot.folder, ""), healthy]).toEqual([
      expect.stringMatching(/^Waiting for \/drive.*: the disk or network drive does not answer$/),
      false,
    ]);
    await daemon.untilLogged("disk-hangs");
    const sent = proxy.requests.length;
    drive.answer();
    await daemon.until((status) => status.healthy);
    await daemon.untilLogged("disk-answers-again");
    expect(proxy.requests.length).toBe(sent);
    // As the test sees it, and as the drive shows it to the agent.
    for (const name of ["drive/arm.yaml", "kept/arm.yaml"]) await writeAtOnce(robot.path(name), "a: 2\n");
    await expectOneRobot(scene, daemon);
  });

  test.concurrent("mounted over a file while the agent runs: the agent does not hang with it", async () => {
    await using scene = await sceneOnDrive("local/arm.yaml");
    const { robot } = scene;
    await mkdir(robot.path("drive"));
    await using drive = await mountDrive(robot);
    await using daemon = await robot.startProcess({}, drive.words);
    await daemon.until(({ state, watching }) => state === "registered" && watching?.mode === "events");
    const [enter, ...words] = [...drive.words, "mount", "--bind", robot.path("drive"), robot.path("local")] as const;
    await run(enter ?? "", words);
    await drive.hang();
    await daemon.until(isWaiting);
    expect(await daemon.stop()).toBe(0);
  });

  test.concurrent("SIGTERM is not held up", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await using daemon = await robot.startProcess({}, drive.words);
    await daemon.until(({ state }) => state === "registered");
    await drive.hang();
    await daemon.until(isWaiting);
    const askedAtMs = performance.now();
    expect(await daemon.stop()).toBe(0);
    expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
  });

  test.concurrent("at the start: it is up all the same, says what it waits for, and registers once the drive answers", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await drive.hang();
    await using daemon = await robot.startProcess({}, drive.words);
    await daemon.until(isWaiting);
    drive.answer();
    await expectOneRobot(scene, daemon);
  });

  test.concurrent("a command that is interrupted ends", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await drive.hang();
    await using command = startWords([...drive.words, ...agentWords(robot, ["digest"])]);
    await eventually(async () => ((await isBusy(command.child)) ? true : undefined), "the command to hang");
    command.child.kill("SIGINT");
    expect(await command.ended()).toBe(130);
  });

  test.concurrent("doctor: the file's check is late, the others are not, and it ends", async () => {
    await using scene = await sceneOnDrive();
    const { robot } = scene;
    await using drive = await mountDrive(robot);
    await drive.hang();
    const askedAtMs = performance.now();
    const { code, stdout } = await robot.runProcess(["doctor"], {}, drive.words);
    expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}files +no result within [1-8] s$/m);
    expect(stdout).toMatch(/^ok {4}service /m);
  });
});

function isWaiting({ summary }: StatusDocument): boolean {
  return summary.endsWith("does not answer");
}

/** A robot whose file lies on a drive: what is in `kept` shows there. */
async function sceneOnDrive(path = "drive/arm.yaml"): Promise<Scene> {
  const scene = await createScene({
    files: { [path]: "a: 1\n" },
    watch: "{settle_ms: 150, poll_s: 1, resync_s: 5}",
  });
  await mkdir(scene.robot.path("kept"));
  await writeAtOnce(scene.robot.path("kept/arm.yaml"), "a: 1\n");
  return scene;
}

async function mountDrive(robot: Robot): Promise<Drive> {
  const program = new URL("../../../support/robot/silent-filesystem.ts", import.meta.url);
  const [unshare, ...words] = withOwnMounts;
  const child = spawn(
    unshare,
    [...words, process.execPath, program.pathname, robot.path("kept"), robot.path("drive")],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  endWithTest(child);
  const ended = once(child, "exit");
  if (child.stdout !== null) await Promise.race([once(child.stdout, "data"), ended]);
  const hung = robot.path("kept/.hung");
  return {
    words: ["nsenter", `--target=${child.pid}`, "--mount"],
    async hang() {
      // Between two requests: for one in its hand the kernel waits whatever happens, kill -9 included, as network drives do not.
      await stat(`/proc/${child.pid}/root${robot.path("drive/.hang")}`).catch(() => {});
      await eventually(async () => existsSync(hung) || undefined, "a drive that hangs");
    },
    answer: () => rmSync(hung),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** One of its threads waits for the drive. */
async function isBusy({ pid }: ChildProcess): Promise<boolean> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const waits = await Promise.all(tasks.map((task) => waitOf(pid, task)));
  return waits.some((wait) => wait.includes("fuse") || wait.includes("request_wait_answer"));
}

/** Where in the kernel a thread waits (proc(5), wchan). */
function waitOf(processId: number | undefined, task: number | string | undefined): Promise<string> {
  return readFile(`/proc/${processId}/task/${task}/wchan`, "utf8").catch(() => "");
}
