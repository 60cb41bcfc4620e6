import type { Answered, OperationInput, OperationOf } from "../client/operation-client.ts";
import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import { isUnknownOperation } from "./failure.ts";
import type { Service } from "./service.ts";

/** What the service answers; null where it has no such operation, an exit code after telling why else there is no answer. */
export async function callIfOffered<T>(
  service: Service,
  row: OperationOf<T>,
  input: OperationInput,
): Promise<Answered<T> | ExitCode | null> {
  const result = await service.call(row, input);
  if (result.kind === "ok") return result.value;
  return isUnknownOperation(result) ? null : service.failed(result);
}

/**
 * Tells that the service has only what is documented.
 *
 * @param lack what it does not do, after "this service".
 * @param fix what can be done instead.
 */
export function refuseMissingOperation(lack: string, fix: string, terminal: Terminal): ExitCode {
  terminal.problem({ code: "not-offered", what: `this service ${lack}`, fix });
  return EXIT.rejected;
}
