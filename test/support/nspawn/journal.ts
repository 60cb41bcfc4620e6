import type { Executed } from "../programs/execute.ts";
import type { ScriptOptions } from "./session.ts";

/** Where scripts run as root: a running system or a system image. */
export interface Shell {
  /** Runs a shell script with `set -e`. */
  run(script: string, options?: ScriptOptions): Promise<Executed>;
  /** Standard output of the script, without the last newline. */
  ask(script: string, options?: ScriptOptions): Promise<string>;
  /** Writes a file and creates its parent folders. */
  write(path: string, content: string, mode?: string): Promise<void>;
}

/** Prints the journals of our units when a test fails. */

const LINES = 150;
const ASK = `journalctl --no-pager -o short-precise -n ${LINES} -u 'robot-policy*'`;

const running = new Map<Shell, string>();
/** Journals of computers discarded since the last test. */
let ended: readonly string[] = [];

/** Call after a computer has booted. */
export function followJournal(computer: Shell, hostname: string): void {
  running.set(computer, hostname);
}

/** Call while the computer still runs, before it is switched off for good. */
export async function keepJournal(computer: Shell): Promise<void> {
  if (!running.has(computer)) return;
  ended = [...ended, await journal(computer)];
  running.delete(computer);
}

/** Call after the computer is off. */
export function forgetJournal(computer: Shell): void {
  running.delete(computer);
}

/** For `afterEach`: prints the journals of a failed test's computers. */
export async function tellJournals({
  task,
}: {
  readonly task: { readonly result?: { readonly state: string } | undefined };
}): Promise<void> {
  if (task.result?.state === "fail") {
    const output = await Promise.all([...running.keys()].map(journal));
    console.error([...ended, ...output].join("\n"));
  }
  ended = [];
}

async function journal(computer: Shell): Promise<string> {
  const output = await computer.run(ASK, { may_fail: true }).then(
    ({ stdout }) => stdout,
    (error: unknown) => String(error),
  );
  return `journal of ${running.get(computer)}, the last ${LINES} lines:\n${output}`;
}
