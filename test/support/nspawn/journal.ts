import type { Executed } from "../programs/execute.ts";
import type { ScriptOptions } from "./session.ts";

/** Where scripts run as root: a running system, or an image of one. */
export interface Shell {
  /** Runs a shell script. The first command that fails ends it. */
  run(script: string, options?: ScriptOptions): Promise<Executed>;
  /** What the script printed, without the last line end. */
  ask(script: string, options?: ScriptOptions): Promise<string>;
  /** Writes a file, with the folders above it. */
  write(path: string, content: string, mode?: string): Promise<void>;
}

/** What our units wrote to the journals of computers, for a test that fails. */

const LINES = 150;
const ASK = `journalctl --no-pager -o short-precise -n ${LINES} -u 'robot-policy*'`;

const running = new Map<Shell, string>();
/** Of computers that were thrown away since the last test. */
let ended: readonly string[] = [];

/** To be called when a computer has booted. */
export function followJournal(computer: Shell, hostname: string): void {
  running.set(computer, hostname);
}

/** To be called while it still runs, before it is switched off for good. */
export async function keepJournal(computer: Shell): Promise<void> {
  if (!running.has(computer)) return;
  ended = [...ended, await journal(computer)];
  running.delete(computer);
}

/** To be called when it is off. */
export function forgetJournal(computer: Shell): void {
  running.delete(computer);
}

/** For `afterEach`: prints the journals of the computers that a failed test had. */
export async function tellJournals({
  task,
}: {
  readonly task: { readonly result?: { readonly state: string } | undefined };
}): Promise<void> {
  if (task.result?.state === "fail") {
    const told = await Promise.all([...running.keys()].map(journal));
    console.error([...ended, ...told].join("\n"));
  }
  ended = [];
}

async function journal(computer: Shell): Promise<string> {
  const told = await computer.run(ASK, { may_fail: true }).then(
    ({ stdout }) => stdout,
    (error: unknown) => String(error),
  );
  return `journal of ${running.get(computer)}, the last ${LINES} lines:\n${told}`;
}
