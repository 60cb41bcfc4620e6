/** A command of the agent as a process that a test can interrupt, or type to. */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";

import { AGENT_PROGRAM, COMPILE_CACHE } from "./programs-built.ts";
import type { Robot } from "./robot.ts";
import { eventually } from "./robot.ts";

export interface RunningCommand extends AsyncDisposable {
  readonly child: ChildProcess;
  /** What it wrote so far, to stdout and stderr. */
  output(): string;
  /** Resolves once the text was written. */
  wrote(text: string): Promise<void>;
  /** Resolves with the exit code, or the signal's name. */
  ended(): Promise<number | string>;
}

/** Starts `words` as they are. */
export function startWords(
  [program = "", ...words]: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): RunningCommand {
  const child = spawn(program, words, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], ...COMPILE_CACHE, ...environment },
  });
  const end = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  return {
    child,
    output: () => output,
    async wrote(text) {
      await eventually(
        async () => {
          const has_ended = child.exitCode !== null;
          // What it wrote last may still be on its way.
          if (has_ended) await end;
          if (output.includes(text)) return true;
          if (has_ended) throw new Error(`it ended with ${child.exitCode}: ${output}`);
          return undefined;
        },
        `the output ${JSON.stringify(text)}`,
      );
    },
    async ended() {
      const [code, signal] = (await end) as [number | null, string | null];
      return code ?? signal ?? 0;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await end;
    },
  };
}

/** Starts a command on the robot's own folders. */
export function startCommand(robot: Robot, args: readonly string[]): RunningCommand {
  return startWords(agentWords(robot, args));
}

/** `robot-policy-agent ARGS` with the robot's own folders, as words for a program that runs others. */
export function agentWords(robot: Robot, args: readonly string[]): readonly string[] {
  const { config_path, state_directory, runtime_directory } = robot;
  return [
    process.execPath,
    AGENT_PROGRAM,
    ...args,
    "--config",
    config_path,
    "--state-dir",
    state_directory,
    "--runtime-dir",
    runtime_directory,
  ];
}
