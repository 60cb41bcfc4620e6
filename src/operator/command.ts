import type { CommandRow } from "../cli/command-table.ts";
import { EXIT, type ExitCode } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import { type Flags, flagRows, type Given, readFlags, type ServiceFlags } from "./flags.ts";
import { withService } from "./operator.ts";
import { refuse } from "./refuse.ts";
import type { Service } from "./service.ts";

export type OperatorRow = CommandRow<object, OperatorContext>;

interface Declaration<Declared extends Flags> extends Omit<OperatorRow, "flags" | "load"> {
  readonly flags: Declared;
}

/** A command, declared where it is run: its words, its flags with their places in the request, and what it does with an open service. */
export function command<Declared extends Flags>({
  run,
  ...declaration
}: Declaration<Declared> & {
  /** Arguments that were not given are empty; `words` are all of them. */
  readonly run: (
    service: Service,
    flags: Given<Declared>,
    first: string,
    second: string,
    words: readonly string[],
  ) => Promise<ExitCode>;
}): OperatorRow {
  return localCommand({
    ...declaration,
    run: (flags, context, serviceFlags, ...given) =>
      withService(serviceFlags, context, declaration.summary, (service) => run(service, flags, ...given)),
  });
}

/** A command that opens no service, or chooses it itself. */
export function localCommand<Declared extends Flags>({
  run,
  flags,
  ...row
}: Declaration<Declared> & {
  readonly run: (
    flags: Given<Declared>,
    context: OperatorContext,
    serviceFlags: ServiceFlags,
    first: string,
    second: string,
    words: readonly string[],
  ) => Promise<ExitCode>;
}): OperatorRow {
  return {
    ...row,
    flags: flagRows(flags),
    load:
      async () =>
      async (given, context, first = "", second = "", words) => {
        const read = readFlags(flags, given);
        if ("code" in read) return refuse(read, EXIT.usage, context.terminal);
        return run(read.own, context, read.service, first, second, words);
      },
  };
}
