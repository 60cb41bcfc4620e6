import type { Questions } from "../platform/questions.ts";
import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";

export interface ConfirmFlags {
  /** Do not ask. */
  readonly yes?: boolean;
}

/** The terminal to confirm a change at that is hard to undo; null in a script and with `--yes`. */
export function confirmationPrompt({ yes }: ConfirmFlags, { openQuestions }: OperatorContext): Questions | null {
  return yes === true ? null : openQuestions();
}

/**
 * Asks whether to go on. Anything except y and yes is a no, and so is the end of the input.
 *
 * @param question printed unescaped, so it must hold no text from a service; name the things in a note before it.
 * @returns null for a yes, else the exit code, after saying that nothing was changed.
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
