import { systemClock } from "../platform/clock.ts";
import { systemMachine } from "../platform/machine.ts";
import { daemonFlags } from "./daemon-flags.ts";
import type { ProcessContext } from "./process-context.ts";
import { VERSION } from "./version.ts";

/**
 * Runs robot-policy-agent with these arguments.
 *
 * Starts the daemon without loading the other commands and commander, to save time and memory.
 */
export async function runAgentProgram(
  argv: readonly string[],
  own: ProcessContext,
  clock = systemClock,
): Promise<number> {
  const { NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID } = own.environment;
  const machine = { ...systemMachine({ NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID }, own.processId), clock };
  const context = { ...own, machine, version: VERSION };
  const flags = daemonFlags(argv);
  if (flags !== null) {
    if (argv.length > 1) {
      const [{ agentProgram }, { repeatFlags }] = await Promise.all([
        import("./agent-program.ts"),
        import("./repeat-flags.ts"),
      ]);
      own.terminal.completeHints(repeatFlags(agentProgram, flags));
    }
    const { run } = await import("../agent/commands/run.ts");
    return run(flags, context);
  }
  const { runAgentCommand } = await import("./agent-commands.ts");
  return runAgentCommand(argv, context);
}
