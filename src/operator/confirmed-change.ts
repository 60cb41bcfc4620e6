import type { Answered, OperationInput, OperationOf } from "../client/operation-client.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import { confirmationPrompt, refusedBy } from "./confirm.ts";
import type { OperatorContext } from "./context.ts";
import type { Failure, Sent } from "./failure.ts";
import { isUnknownOperation } from "./failure.ts";
import type { OperatorFlags } from "./flags.ts";
import { refuseMissingOperation } from "./refuse.ts";
import type { Service } from "./service.ts";

/** A change that is hard to undo. */
export interface ConfirmedChange<T> {
  readonly row: OperationOf<T>;
  readonly input: OperationInput;
  /** Says at a terminal what the change does. @returns the question, as `refusedBy` takes it; null to ask nothing. */
  explain(): string | null | Promise<string | null>;
  /** What a service that lacks the operation does not do, and what to do instead; as `refuseMissingOperation` takes them. */
  readonly missing: readonly [lack: string, fix: string];
  /** Printed for a person. */
  done(value: Answered<T>["value"]): string;
  /** For refusals of the body. */
  readonly places?: NonNullable<Sent["places"]>;
  /** Reports a failure in the command's own words. @returns null for the general ones. */
  refused?(failure: Failure): ExitCode | null;
}

/** Shows the request with `--dry-run`; else asks once at a terminal, makes the change, and prints what became of it. */
export async function makeConfirmedChange<T>(
  service: Service,
  { row, input, explain, missing, done, places, refused }: ConfirmedChange<T>,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<ExitCode> {
  const { terminal } = context;
  if (flags.dryRun === true) return service.showRequest(row, input, flags.json === true);
  const prompt = confirmationPrompt(flags, context);
  if (prompt !== null) {
    const question = await explain();
    if (question === null) prompt.close();
    const unconfirmed = question === null ? null : await refusedBy(prompt, question, terminal);
    if (unconfirmed !== null) return unconfirmed;
  }
  const result = await service.call(row, input);
  if (result.kind !== "ok") {
    if (isUnknownOperation(result)) return refuseMissingOperation(...missing, terminal);
    const { body } = input;
    return refused?.(result) ?? service.failed(result, places === undefined ? {} : { body, places });
  }
  if (flags.json === true) terminal.json(result.value.document);
  else terminal.print(done(result.value.value));
  return EXIT.ok;
}
