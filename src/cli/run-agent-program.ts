import { systemClock } from "../platform/clock.ts";
import { systemMachine } from "../platform/machine.ts";
import type { ProcessContext } from "./process-context.ts";
import { VERSION } from "./version.ts";

/**
 * Runs robot-policy-agent with these arguments.
 *
 * Starts the daemon, as the unit does, without loading the other commands and commander: these add 3 ms to the start (a tenth) and 0.7 MB.
 */
export async function runAgentProgram(
  argv: readonly string[],
  own: ProcessContext,
  clock = systemClock,
): Promise<number> {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = own.environment;
  const machine = { ...systemMachine({ NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID }, own.processId), clock };
  const context = { ...own, machine, version: VERSION };
  if (argv.length === 1 && argv[0] === "run") {
    const { run } = await import("../agent/commands/run.ts");
    return run({}, context);
  }
  const { runAgentCommand } = await import("./agent-commands.ts");
  return runAgentCommand(argv, context);
}
