/**
 * What `npm run build` puts into dist/, as a person, a unit or a container starts it.
 *
 * @module-tag needs/program
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunningCommand, startWords } from "../../support/programs/command.ts";
import { AGENT_PROGRAM } from "../../support/programs/programs-built.ts";
import { createRobot, eventually, type Robot } from "../../support/robot/robot.ts";
import { type RunningService, startService } from "../../support/service/service.ts";

/** What the build writes for a person to start. */
const launcherOf = (name: string) => join(dirname(AGENT_PROGRAM), `${name}.cjs`);
/** Makes `env node` find the Node of this test. */
const environment = { PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}` };

const WAYS = [
  ["by its shebang", (program: string) => [program]],
  ["by node FILE", (program: string) => [process.execPath, program]],
] as const;

describe("SIGHUP before the program handles it", () => {
  test.each(["robot-policy-agent", "robot-policy-service"])("%s → continues", async (name) => {
    const dist = await mkdtemp(join(tmpdir(), "launchers-"));
    await copyFile(launcherOf(name), join(dist, `${name}.cjs`));
    await mkdir(join(dist, "lib"));
    const slow = `process.kill(process.pid, "SIGHUP"); setTimeout(() => console.log("goes on"), 1);`;
    await writeFile(join(dist, "lib", `${name}.cjs`), slow);
    await using program = startWords([join(dist, `${name}.cjs`)], environment);
    expect(await program.ended()).toBe(0);
    expect(program.output()).toBe("goes on\n");
    await rm(dist, { recursive: true });
  });
});

describe("SIGUSR1, which opens the inspector of Node by default", () => {
  let robot: Robot;
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
    robot = await createRobot({ service_url: service.url, key: service.key });
  });
  afterAll(async () => {
    await robot[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });

  describe.each(WAYS)("started %s", (_way, start) => {
    const startProgram = (name: string, argv: readonly string[]) =>
      startWords([...start(launcherOf(name)), ...argv], { ...environment, HOME: robot.path("home") });

    /** Sends SIGUSR1, then SIGTERM: the program ends normally, without an inspector. */
    async function staysClosed(program: RunningCommand, exitCode: number): Promise<void> {
      program.child.kill("SIGUSR1");
      program.child.kill("SIGTERM");
      expect(await program.ended()).toBe(exitCode);
      expect(program.output()).not.toMatch(/debugger|inspector/i);
    }

    test("robot-policy-agent run → continues, no inspector", async () => {
      const {
        config_path: configPath,
        state_directory: stateDirectory,
        runtime_directory: runtimeDirectory,
        socket_path: socketPath,
      } = robot;
      const folders = ["--config", configPath, "--state-dir", stateDirectory, "--runtime-dir", runtimeDirectory];
      await using agent = startProgram("robot-policy-agent", ["run", ...folders]);
      await eventually(async () => (existsSync(socketPath) ? true : undefined), "the agent to answer");
      await staysClosed(agent, 0);
    });

    test("robot-policy-service serve → continues, no inspector", async () => {
      await using other = startProgram("robot-policy-service", [
        "serve",
        "--data",
        robot.path("data"),
        "--listen",
        "127.0.0.1:0",
      ]);
      await other.wrote('"listening"');
      await staysClosed(other, 0);
    });

    test("robot-policy login → continues, no inspector", async () => {
      await using operator = startProgram("robot-policy", ["login", "--no-browser", "--url", service.url]);
      await operator.wrote("code");
      await staysClosed(operator, 130);
    });
  });
});
