import type { Answered, OperationInput, OperationOf } from "../client/operation-client.ts";
import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import { isUnknownOperation } from "./failure.ts";
import type { Service } from "./service.ts";

/** @returns the answer; null where the service lacks the operation; an exit code after reporting another failure. */
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
 * Reports that the service lacks an operation.
 *
 * @param lack what it does not do, after "this service".
 * @param fix what to do instead.
 */
export function refuseMissingOperation(lack: string, fix: string, terminal: Terminal): ExitCode {
  terminal.problem({ code: "not-offered", what: `this service ${lack}`, fix });
  return EXIT.rejected;
}
