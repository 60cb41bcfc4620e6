import type { InitContext } from "../agent/commands/init.ts";
import { agentProgram } from "./agent-program.ts";
import type { ProcessContext } from "./process-context.ts";
import { runProgram } from "./run-program.ts";

/** Runs a command of robot-policy-agent; all of them but the daemon as a unit starts it lie behind this. */
export function runAgentCommand(argv: readonly string[], context: InitContext & ProcessContext): Promise<number> {
  return runProgram(agentProgram, argv, { ...context, context });
}
