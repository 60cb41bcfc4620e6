import type { CallResult } from "../client/call-result.ts";
import type { Answered, OperationInput, OperationOf } from "../client/operation-client.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { isUnknownOperation } from "./failure.ts";
import { itemsIn } from "./lists/listed.ts";
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

/** Fetches the items of a whole list; null where the service lacks the operation. */
export async function listIfOffered<T, Item>(
  service: Service,
  row: OperationOf<T>,
  itemsOf: (value: T) => readonly Item[],
): Promise<CallResult<readonly Item[] | null>> {
  const result = await service.listAll(row, itemsOf);
  if (result.kind !== "ok") return isUnknownOperation(result) ? NOTHING_LISTED : result;
  return { ...result, value: itemsIn(result.value) };
}

/** The result of a list that the service lacks, or that is not needed. */
export const NOTHING_LISTED = { kind: "ok", status: 200, value: null } as const;
