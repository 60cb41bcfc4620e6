/**
 * The commands of `robot-policy`, over client/.
 *
 * A command checks its flags and opens its service with `withService`, or with `withNamed` for what has a name. It calls operations of the
 * wire contract (service.ts), and shows the answer as a table (lists/show-list.ts) or, with `--json`, unchanged. change.ts makes the changes:
 * it asks, sends, waits and shows. logins/choose-service.ts chooses service and credential. failure.ts and files/places.ts report failures in
 * terms of the operator's flags and files. refuse.ts reports what is wrong with them, and returns the exit code.
 */
import { createOperationClient } from "../client/operation-client.ts";
import { createUndiciTransport } from "../client/transport/undici-transport.ts";
import { EXIT, type ExitCode } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import type { OperatorFlags } from "./flags.ts";
import { chooseService, type ChosenService } from "./logins/choose-service.ts";
import { refuse, refusePathParameter } from "./refuse.ts";
import { createService, type Service } from "./service.ts";

/** Runs `act` with the service from flags, environment or contexts. Reports why there is none, and returns the exit code for that. */
export async function withService(
  flags: OperatorFlags,
  context: OperatorContext,
  act: (service: Service) => Promise<ExitCode>,
): Promise<ExitCode> {
  const choice = await chooseService(flags, context);
  if (choice.kind === "no-service") return refuse(choice.problem, EXIT.usage, context.terminal);
  await using service = openService(choice, flags, context);
  return await act(service);
}

/**
 * Runs `act` with the item of the name or id that the operator gave.
 *
 * @param find reports that nothing has it, and returns the exit code for that.
 */
export async function withNamed<Found extends object | string>(
  find: (service: Service, name: string) => Promise<Found | ExitCode>,
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  act: (service: Service, found: Found) => Promise<ExitCode>,
): Promise<ExitCode> {
  if (name === undefined || refusePathParameter(name, context.terminal)) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const found = await find(service, name);
    return typeof found === "number" ? found : act(service, found);
  });
}

/** Opens the service with its chosen credential. */
export function openService(
  chosen: ChosenService,
  flags: OperatorFlags,
  context: OperatorContext,
): Service & AsyncDisposable {
  const { machine, environment, version } = context;
  const { files, clock } = machine;
  const { baseUrl, ca_file: caFile, allow_insecure } = chosen;
  const transport = createUndiciTransport({ caFile, proxy: null, allow_insecure, environment, files });
  const access = { baseUrl, transport, clock, userAgent: `robot-policy/${version}` };
  const client = createOperationClient({ ...access, credential: chosen.loadCredential });
  const service = createService({ client, access, chosen, flags, context });
  return { ...service, [Symbol.asyncDispose]: () => transport.close() };
}
