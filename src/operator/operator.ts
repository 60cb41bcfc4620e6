/**
 * The commands of `robot-policy`, over client/.
 *
 * A command opens its service with `withService`, calls operations of the wire contract (service.ts), and shows the answer as a table
 * (lists/show-list.ts) or, with `--json`, unchanged. logins/choose-service.ts chooses service and credential. failure.ts and files/places.ts
 * report failures in terms of the operator's flags and files. refuse.ts reports what is wrong with them, and returns the exit code.
 */
import { createOperationClient } from "../client/operation-client.ts";
import { createUndiciTransport } from "../client/transport/undici-transport.ts";
import type { ExitCode } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import type { OperatorFlags } from "./flags.ts";
import { chooseService } from "./logins/choose-service.ts";
import type { ChosenService } from "./logins/choose-service.ts";
import { refuse } from "./refuse.ts";
import { createService } from "./service.ts";
import type { Service } from "./service.ts";

/** Runs `act` with the service from flags, environment or contexts. Reports why there is none, and returns the exit code for that. */
export async function withService(
  flags: OperatorFlags,
  context: OperatorContext,
  act: (service: Service) => Promise<ExitCode>,
): Promise<ExitCode> {
  const choice = await chooseService(flags, context);
  if (choice.kind === "no-service") return refuse(choice.problem, choice.exitCode, context.terminal);
  await using service = openService(choice, context);
  return await act(service);
}

/** Opens the service with its chosen credential. */
export function openService(chosen: ChosenService, context: OperatorContext): Service & AsyncDisposable {
  const { machine, environment, version } = context;
  const { files, clock } = machine;
  const { baseUrl, ca_file: caFile, allow_insecure: allowInsecure } = chosen;
  const userAgent = `robot-policy/${version}`;
  const transport = createUndiciTransport({
    caFile,
    proxy: null,
    allow_insecure: allowInsecure,
    environment,
    files,
    clock,
  });
  const access = { baseUrl, transport, clock, userAgent };
  const client = createOperationClient({ ...access, credential: chosen.loadCredential });
  const service = createService({ client, access, chosen, context });
  return { ...service, [Symbol.asyncDispose]: () => transport.close() };
}
