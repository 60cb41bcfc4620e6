import type { InitContext } from "../agent/commands/init.ts";
import { agentProgram } from "./agent-program.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";

/** Runs a command of robot-policy-agent, except the daemon with the arguments of the unit (run-agent-program.ts). */
export function runAgentCommand(argv: readonly string[], context: InitContext & ProcessContext): Promise<number> {
  // Only what would never end by itself: an installation goes on when the connection to the robot breaks.
  if (argv.includes("--watch")) context.stopWithTerminal();
  return runProgram(agentProgram, argv, { ...context, context });
}
