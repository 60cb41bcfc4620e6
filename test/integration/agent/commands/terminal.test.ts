/** @module-tag needs/program */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { readFile, truncate } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

import { describe, expect } from "vitest";

import {
  agentWords,
  startCommand,
  startOnTerminal,
  startWords,
  wordsOnTerminal,
} from "../../../support/programs/command.ts";
import { AGENT_PROGRAM } from "../../../support/programs/programs-built.ts";
import { hasProgram } from "../../../support/programs/programs.ts";
import { writeAtOnce } from "../../../support/robot/robot.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { times } from "../../../support/run/tier.ts";
import { test } from "../../../support/service/scene-test.ts";
import { createScene } from "../../../support/service/scene.ts";

describe("interrupted → exit 130:", () => {
  /** Asserts that SIGINT ends the command at once with exit 130 and no error. What it waits for takes longer than the limit or ends otherwise. */
  async function expectInterruptible(command: ReturnType<typeof startWords>): Promise<void> {
    const startedAtMs = performance.now();
    command.child.kill("SIGINT");
    expect(await command.ended()).toBe(130);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    expect(command.output()).not.toMatch(/error|at .*\.ts:/);
  }

  test.each([[["--setup"]], [["doctor"]], [["enroll"]]])("%j while the service hangs", async (args) => {
    await using scene = await createScene();
    scene.proxy.inject({ kind: "hang" }, 2);
    await using command = startCommand(scene.robot, args);
    await scene.proxy.arrived(1);
    await expectInterruptible(command);
  });

  test("status --watch", async ({ scene }) => {
    await using command = startCommand(scene.robot, ["status", "--watch", "--json"]);
    await command.wrote('"stopped"');
    // One document per line, as scripts read them.
    expect(JSON.parse(command.output().split("\n")[0] ?? "")).toMatchObject({ schema_version: 1, state: "stopped" });
    await expectInterruptible(command);
  });

  test.each([[["reload"]], [["status"]]].slice(0, times(1, 2)))("%j while the daemon hangs", async (args) => {
    await using scene = await createScene();
    const server = createServer();
    server.listen(scene.robot.socket_path);
    const connected = once(server, "connection");
    await using command = startCommand(scene.robot, args);
    await connected;
    await expectInterruptible(command);
    server.close();
  });

  test.each([[["digest"]], [["check"]]].slice(0, times(1, 2)))("%j in the middle of a large file", async (args) => {
    await using scene = await createScene({ watch: "{settle_ms: 0, file_limit_bytes: 60000000000}" });
    const [path = ""] = scene.robot.paths;
    await truncate(path, 50_000_000_000);
    await using command = startCommand(scene.robot, args);
    const descriptors = `/proc/${command.child.pid}/fd`;
    await expect.poll(() => linksIn(descriptors), { interval: 20 }).toContain(path);
    await expectInterruptible(command);
  });

  test.skipIf(!hasProgram("script")).each([
    ["Ctrl-C", "\u0003"],
    ["Ctrl-D", "\u0004"],
  ])("init at a question, by %s; nothing is written", async (_name, key) => {
    await using scene = await createScene();
    const { robot } = scene;
    await using command = startOnTerminal(robot, ["init", "--dir", robot.path("etc")]);
    await command.wrote("Address of the service");
    command.child.stdin?.write(key);
    expect(await command.ended()).toBe(130);
    expect(command.output()).not.toMatch(/ERR_|at .*\.ts:/);
    expect(readdirSync(robot.folder)).not.toContain("etc");
  });
});

describe("output", () => {
  test.skipIf(!hasProgram("script"))("the terminal closes → status --watch ends", async ({ scene }) => {
    const exitCode = scene.robot.path("exit-code");
    const words = wordsOnTerminal(agentWords(scene.robot, ["status", "--watch"]), exitCode);
    await using terminal = startWords(words, { TERM: "xterm" });
    await terminal.wrote("on disk");
    terminal.child.kill("SIGKILL");
    await expect.poll(() => readFile(exitCode, "utf8").catch(() => ""), { timeout: PATIENCE_MS }).toBe("130\n");
  });

  test("the reader of a pipe ends → no error, and status --watch ends", async ({ scene }) => {
    const args = agentWords(scene.robot, ["status", "--watch"]).map((word) => `'${word}'`);
    await using watching = startWords(["sh", "-c", `${args.join(" ")} | true`]);
    // The first line is written at once; the next one, at the next change, has no reader.
    await expect
      .poll(
        async () => {
          await writeAtOnce(scene.robot.paths[0] ?? "", `offset: ${performance.now()}\n`);
          return watching.child.exitCode;
        },
        { interval: 200 },
      )
      .not.toBeNull();
    expect(watching.output()).not.toMatch(/EPIPE|at .*\.ts:/);
    const listed = execFileSync(
      "sh",
      ["-c", '"$@" 2>&1 | head -1', "sh", process.execPath, AGENT_PROGRAM, "schema", "manifest"],
      {
        encoding: "utf8",
      },
    );
    expect(listed).toBe("{\n");
  });

  test.skipIf(!hasProgram("script"))("on a terminal → colour and a progress bar; NO_COLOR → no colour", async () => {
    await using scene = await createScene({ watch: "{settle_ms: 0}" });
    // Several chunks: the bar appears after the first.
    await truncate(scene.robot.paths[0] ?? "", 2_000_000);
    const onTerminal = async (environment: Record<string, string>) => {
      await using command = startOnTerminal(scene.robot, ["check"], environment);
      expect(await command.ended()).toBe(0);
      return command.output();
    };
    const coloured = await onTerminal({});
    expect(coloured).toMatch(/hashing █*░* \d+ %/);
    expect(coloured).toContain("\u001B[32mok\u001B[39m");
    expect(await onTerminal({ NO_COLOR: "1" })).not.toContain("\u001B[32m");
    expect((await scene.robot.run(["check"])).stderr).not.toContain("hashing");
  });
});

function linksIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).map((name) => readlinkSync(join(folder, name)));
  } catch {
    // The process or a descriptor does not exist, or no longer.
    return [];
  }
}
