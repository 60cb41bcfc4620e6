/**
 * The commands of `robot-policy`, over client/.
 *
 * A command is declared in the file of its resource (command.ts, flags.ts), and run with an open service (service.ts): it finds what the
 * operator names (find.ts), calls operations of the wire contract, and shows the answer as a table (lists/show-list.ts) or, with `--json`,
 * unchanged. change.ts makes the changes: it asks, sends, waits and shows. logins/choose-service.ts chooses service and credential.
 * failure.ts and body.ts report failures in terms of the operator's flags and files.
 */
import { createOperationClient } from "../client/operation-client.ts";
import { EXIT, type ExitCode } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import type { ServiceFlags } from "./flags.ts";
import { chooseService, type ChosenService } from "./logins/choose-service.ts";
import { refuse } from "./refuse.ts";
import { createService, type Service } from "./service.ts";

/**
 * Runs `act` with the service from flags, environment or contexts. Reports why there is none, and returns the exit code for that.
 *
 * @param summary of the command.
 */
export async function withService(
  flags: ServiceFlags,
  context: OperatorContext,
  summary: string,
  act: (service: Service) => Promise<ExitCode>,
): Promise<ExitCode> {
  const chosen = await chooseService(flags, context);
  if ("code" in chosen) return refuse(chosen, EXIT.usage, context.terminal);
  await using service = await openService(chosen, flags, context, summary);
  return await act(service);
}

/** Opens the service with its chosen credential. */
export async function openService(
  chosen: ChosenService,
  flags: ServiceFlags,
  context: OperatorContext,
  summary: string,
): Promise<Service & AsyncDisposable> {
  // Loaded here, because help asks no service.
  const { createUndiciTransport } = await import("../client/transport/undici-transport.ts");
  const { machine, environment, version } = context;
  const { files, clock } = machine;
  const { baseUrl, ca_file: caFile, allow_insecure } = chosen;
  const transport = createUndiciTransport({ caFile, proxy: null, allow_insecure, environment, files });
  const access = { baseUrl, transport, clock, userAgent: `robot-policy/${version}` };
  const client = createOperationClient({ ...access, credential: chosen.loadCredential });
  const service = createService({ client, access, chosen, flags, context, summary });
  return { ...service, [Symbol.asyncDispose]: () => transport.close() };
}
