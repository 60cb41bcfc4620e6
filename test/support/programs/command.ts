/** A command of the agent as a process that a test can interrupt or type into. */
import type { ChildProcess } from "node:child_process";

import { shellWord } from "../../../src/platform/text/shell-word.ts";
import { eventually, type Robot } from "../robot/robot.ts";
import { PATIENCE_MS } from "../run/patience.ts";
import { startProgram } from "./children.ts";
import { AGENT_PROGRAM } from "./programs-built.ts";

export interface RunningCommand extends AsyncDisposable {
  readonly child: ChildProcess;
  /** Standard output and standard error so far. */
  output(): string;
  /** Resolves once the output contains the text. */
  wrote(text: string): Promise<void>;
  /** Resolves with the exit code or the name of the signal. */
  ended(): Promise<number | string>;
}

/** Starts the command line as given. */
export function startWords(
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): RunningCommand {
  const { child, output, ended } = startProgram(argv, environment);
  return {
    child,
    output,
    async wrote(text) {
      await eventually(
        async () => {
          const hasEnded = child.exitCode !== null;
          // The last output may not have arrived yet.
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

/**
 * The command line on a terminal of its own (script(1)), which closes when that is killed.
 *
 * @param exitCodePath a shell that outlives the terminal writes the exit code to this file.
 */
export function wordsOnTerminal(argv: readonly string[], exitCodePath: string): readonly string[] {
  const limited = ["timeout", "--foreground", `${PATIENCE_MS / 1000}`, ...argv].map(shellWord).join(" ");
  return ["script", "-qec", `(trap '' HUP; ${limited}; echo $? >${shellWord(exitCodePath)}); true`, "/dev/null"];
}

/** Starts a command of the agent with the robot's folders. */
export function startCommand(robot: Robot, args: readonly string[]): RunningCommand {
  return startWords(agentWords(robot, args));
}

/** As `startCommand`, on a terminal of its own (script(1)). */
export function startOnTerminal(
  robot: Robot,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): RunningCommand {
  const line = agentWords(robot, args).map(shellWord).join(" ");
  return startWords(["script", "-qec", line, "/dev/null"], { TERM: "xterm", ...environment });
}

/** The command line of `robot-policy-agent ARGS` with the robot's folders, for programs that run another one. */
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
