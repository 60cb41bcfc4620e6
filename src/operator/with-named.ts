import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import type { OperatorFlags } from "./flags.ts";
import { withService } from "./operator.ts";
import { refusePathParameter } from "./refuse.ts";
import type { Service } from "./service.ts";

/**
 * Runs `act` with what has the name or id that the operator gave.
 *
 * @param find reports that nothing has it, and returns the exit code for that.
 */
export async function withNamed<Found extends object | string>(
  find: (service: Service, name: string, terminal: Terminal) => Promise<Found | ExitCode>,
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  act: (service: Service, found: Found) => Promise<ExitCode>,
): Promise<ExitCode> {
  if (name === undefined || refusePathParameter(name, context.terminal)) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const found = await find(service, name, context.terminal);
    return typeof found === "number" ? found : act(service, found);
  });
}
