import type { OperationInput, OperationOf } from "../client/operation-client.ts";
import { EXIT, type ExitCode, type Questions, type Terminal } from "../platform/terminal.ts";
import type { Sent } from "./failure.ts";
import { showAsItIs, showOthers } from "./lists/show-list.ts";
import { refuse } from "./refuse.ts";
import type { Answer, Service } from "./service.ts";
import type { Waited } from "./wait.ts";

/** A change, how an operator is asked about it, and how its result and its failures are shown. */
export interface Change<T> extends Omit<Sent, "body"> {
  readonly row: OperationOf<T>;
  readonly input: OperationInput;
  /**
   * For a change that is hard to undo: says at a terminal what it does.
   *
   * @returns the question, as `refusedBy` takes it; null to ask nothing; an exit code after reporting why nothing is changed.
   */
  readonly explain?: () => Question | Promise<Question>;
  /** Tells a person that the service accepted the change, before the wait for its end. */
  readonly begun?: (value: T) => void;
  /** With `--wait`: waits for the end of the change. */
  readonly wait?: (first: Answer<T>) => Promise<Waited<Answer<T>>>;
  /** Shows a person what became of it. @param exitCode of the wait. */
  readonly show: (value: T, exitCode: ExitCode) => void;
}

type Question = string | ExitCode | null;

/** Shows the request with `--dry-run`; else asks once at a terminal, makes the change, waits for its end, and shows it. */
export async function makeChange<T>(service: Service, change: Change<T>): Promise<ExitCode> {
  const { row, input, explain, begun, wait, show, ...sent } = change;
  const { flags } = service;
  if (flags.dryRun === true) return service.showRequest(row, input);
  const unconfirmed = explain === undefined ? null : await refusedAfter(explain, service);
  if (unconfirmed !== null) return unconfirmed;
  const result = await service.call(row, input);
  if (result.kind !== "ok") {
    const shown = showAsItIs(result, service);
    if (shown === null) return service.failed(result, { ...sent, body: input.body });
    if (flags.wait !== true) return shown;
    const what = "the service has accepted it, and robot-policy cannot read how it goes on";
    return refuse({ code: "unknown-answer", what, fix: "leave --wait out" }, EXIT.failed, service.terminal);
  }
  const first = result.value;
  if (flags.json !== true) begun?.(first.value);
  const waits = flags.wait === true && wait !== undefined;
  const { last, exitCode } = waits ? await wait(first) : { last: first, exitCode: EXIT.ok };
  service.answer(last.document, () => {
    show(last.value, exitCode);
    showOthers(last.document, row.response, service.terminal);
  });
  return exitCode;
}

async function refusedAfter(explain: () => Question | Promise<Question>, service: Service): Promise<ExitCode | null> {
  const prompt = confirmationPrompt(service);
  if (prompt === null) return null;
  const question = await explain();
  if (typeof question === "string") return refusedBy(prompt, question, service.terminal);
  prompt.close();
  return question;
}

/** The terminal to confirm a change at that is hard to undo; null in a script and with `--yes`. */
export function confirmationPrompt({ flags, context }: Service): Questions | null {
  return flags.yes === true ? null : context.openQuestions();
}

/**
 * Asks whether to go on. Anything except y and yes is a no, and so is the end of the input.
 *
 * @param question printed unescaped, so it must hold no text from a service; name the things in a note before it.
 * @returns null for a yes, else the exit code, after saying that nothing was changed.
 */
export async function refusedBy(prompt: Questions, question: string, terminal: Terminal): Promise<ExitCode | null> {
  const answer = await askOnce(prompt, `${question} [y/N] `);
  if (/^\s*y(?:es)?\s*$/i.test(answer ?? "")) return null;
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
  const answer = await askOnce(prompt, question);
  if (answer?.trim().toLowerCase() === name.toLowerCase()) return null;
  return notConfirmed(`type ${name} to go on`, terminal);
}

async function askOnce(prompt: Questions, question: string): Promise<string | null> {
  try {
    return await prompt.ask(question);
  } finally {
    prompt.close();
  }
}

function notConfirmed(fix: string, terminal: Terminal): ExitCode {
  return refuse({ code: "not-confirmed", what: "nothing was changed", fix }, EXIT.failed, terminal);
}
