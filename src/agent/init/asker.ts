import type { Questions } from "../../platform/questions.ts";
import type { Terminal } from "../../platform/terminal.ts";

export interface Asker {
  readonly questions: Questions;
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/** Attempts per question, so that input from a script ends. */
const ATTEMPTS = 20;
/** The input ended, or all attempts failed. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";
}

/** @returns null when the person skips it. @throws GaveUp */
export async function ask(
  question: string,
  problemOf: (answer: string) => string | null | Promise<string | null>,
  { questions, terminal, signal }: Asker,
): Promise<string | null> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const line = await questions.ask(question);
    signal.throwIfAborted();
    if (line === null) throw new GaveUp();
    const written = line.trim();
    if (written === "") return null;
    const problem = await problemOf(written);
    if (problem === null) return written;
    terminal.note(problem);
  }
  throw new GaveUp();
}
