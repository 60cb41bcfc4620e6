import type { CommandContext, CommonOptions } from "./commands/context.ts";
import { systemClock } from "../platform/clock.ts";
import { systemMachine } from "../platform/machine.ts";
import { EXIT } from "../platform/terminal.ts";
import { daemonFlags } from "./daemon-flags.ts";
import type { ProcessContext } from "../cli/process-context.ts";
import { VERSION } from "../cli/version.ts";

/** Runs robot-policy-agent with these arguments. The daemon and the timer's look start without the table of commands and without commander. */
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
        import("./commands/table.ts"),
        import("../cli/command-table.ts"),
      ]);
      own.terminal.completeHints(repeatFlags(agentProgram, flags));
    }
    if (argv[0] === "look") return runLook(flags, context);
    const { run } = await import("./commands/run.ts");
    return run(flags, context);
  }
  const [{ agentProgram }, { runProgram }] = await Promise.all([
    import("./commands/table.ts"),
    import("../cli/run-program.ts"),
  ]);
  // Only what would never end by itself: an installation goes on when the connection to the robot breaks.
  if (argv.includes("--watch")) own.stopWithTerminal();
  return runProgram(agentProgram, argv, { ...context, context });
}

async function runLook(flags: CommonOptions, context: CommandContext): Promise<number> {
  const { look } = await import("./commands/look.ts");
  try {
    return await look(flags, context);
  } catch (error) {
    if (context.signal.aborted) return EXIT.interrupted;
    throw error;
  }
}
