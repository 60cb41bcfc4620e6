/** A command of the agent as a process that a test can interrupt, or type to. */
import type { ChildProcess } from "node:child_process";

import { eventually, type Robot } from "../robot/robot.ts";
import { startProgram } from "./children.ts";
import { AGENT_PROGRAM } from "./programs-built.ts";

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
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): RunningCommand {
  const { child, output, ended } = startProgram(words, environment);
  return {
    child,
    output,
    async wrote(text) {
      await eventually(
        async () => {
          const hasEnded = child.exitCode !== null;
          // What it wrote last may still be on its way.
          if (hasEnded) await ended;
          if (output().includes(text)) return true;
          if (hasEnded) throw new Error(`it ended with ${child.exitCode}: ${output()}`);
          return undefined;
        },
        `the output ${JSON.stringify(text)}`,
      );
    },
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Starts a command on the robot's own folders. */
export function startCommand(robot: Robot, args: readonly string[]): RunningCommand {
  return startWords(agentWords(robot, args));
}

/** `robot-policy-agent ARGS` with the robot's own folders, as words for a program that runs others. */
export function agentWords(robot: Robot, args: readonly string[]): readonly string[] {
  const { config_path: configPath, state_directory: stateDirectory, runtime_directory: runtimeDirectory } = robot;
  return [
    process.execPath,
    AGENT_PROGRAM,
    ...args,
    "--config",
    configPath,
    "--state-dir",
    stateDirectory,
    "--runtime-dir",
    runtimeDirectory,
  ];
}
