import type { Questions } from "../platform/questions.ts";
import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";

export interface ConfirmFlags {
  /** Nobody is asked. */
  readonly yes?: boolean;
}

/** The person to ask before something is done that is hard to undo; null for a script, and where `--yes` answered already. */
export function personToAsk({ yes }: ConfirmFlags, { openQuestions }: OperatorContext): Questions | null {
  return yes === true ? null : openQuestions();
}

/**
 * Asks whether to go on. Anything but y and yes is a no, and so is the end of the input.
 *
 * @param question what was told before names the things; this is written as it is and holds nothing of a service.
 * @returns null for a yes, else the exit code, after telling that nothing was changed.
 */
export async function refusedBy(person: Questions, question: string, terminal: Terminal): Promise<ExitCode | null> {
  try {
    const answer = await person.ask(`${question} [y/N] `);
    if (/^\s*y(?:es)?\s*$/i.test(answer ?? "")) return null;
  } finally {
    person.close();
  }
  terminal.problem({ code: "not-confirmed", what: "nothing was changed", fix: "answer y to go on, or give --yes" });
  return EXIT.failed;
}
