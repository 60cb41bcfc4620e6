import type { Questions } from "../platform/questions.ts";
import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { OperatorContext } from "./context.ts";
import type { OperatorFlags } from "./flags.ts";
import { refuse } from "./refuse.ts";

/** The terminal to confirm a change at that is hard to undo; null in a script and with `--yes`. */
export function confirmationPrompt({ yes }: OperatorFlags, { openQuestions }: OperatorContext): Questions | null {
  return yes === true ? null : openQuestions();
}

/**
 * Asks whether to go on. Anything except y and yes is a no, and so is the end of the input.
 *
 * @param question printed unescaped, so it must hold no text from a service; name the things in a note before it.
 * @returns null for a yes, else the exit code, after saying that nothing was changed.
 */
export async function refusedBy(prompt: Questions, question: string, terminal: Terminal): Promise<ExitCode | null> {
  try {
    const answer = await prompt.ask(`${question} [y/N] `);
    if (/^\s*y(?:es)?\s*$/i.test(answer ?? "")) return null;
  } finally {
    prompt.close();
  }
  return notConfirmed("answer y to go on, or give --yes", terminal);
}

/**
 * Has a name typed, for a change that a y is too little for.
 *
 * @param question printed unescaped, like that of `refusedBy`.
 * @returns null where the name was typed, else the exit code, after saying that nothing was changed.
 */
export async function refusedWithoutName(
  prompt: Questions,
  question: string,
  name: string,
  terminal: Terminal,
): Promise<ExitCode | null> {
  try {
    const answer = await prompt.ask(question);
    if (answer?.trim().toLowerCase() === name.toLowerCase()) return null;
  } finally {
    prompt.close();
  }
  return notConfirmed(`type ${name} to go on`, terminal);
}

function notConfirmed(fix: string, terminal: Terminal): ExitCode {
  return refuse({ code: "not-confirmed", what: "nothing was changed", fix }, EXIT.failed, terminal);
}
