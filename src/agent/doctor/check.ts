/** The verdict of a check of `doctor`, and how checks are run: within a time limit. */
import { within } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";

/** In the order of display: each may be the cause of those below it. The ids are stable, for scripts. `devices` only where some are listed. */
export const CHECK_IDS = [
  "configuration",
  "manifest",
  "files",
  "devices",
  "key",
  "state",
  "unit",
  "daemon",
  "dns",
  "tcp",
  "proxy",
  "tls",
  "service",
] as const;

export type CheckId = (typeof CHECK_IDS)[number];

export interface Verdict {
  /** A warning does not prevent registration. */
  readonly status: "ok" | "skip" | "warn" | "fail";
  readonly what: string;
  /** Of warnings and failures. */
  readonly remedy: string | null;
  /** The kind of a failure; 0 for all others. */
  readonly exitCode: ExitCode;
}

export function ok(what: string): Verdict {
  return { status: "ok", what, remedy: null, exitCode: EXIT.ok };
}

export function skip(what: string): Verdict {
  return { status: "skip", what, remedy: null, exitCode: EXIT.ok };
}

export function warn(what: string, remedy: string): Verdict {
  return { status: "warn", what, remedy, exitCode: EXIT.ok };
}

export function fail(exitCode: ExitCode, what: string, remedy: string): Verdict {
  return { status: "fail", what, remedy, exitCode };
}

/** One verdict for several: the failures and warnings, or else what is in order. */
export function combine(verdicts: readonly Verdict[]): Verdict {
  const those = (wanted: Verdict["status"]) => verdicts.filter(({ status }) => status === wanted);
  const troubles = [...those("fail"), ...those("warn")];
  const [worst] = troubles;
  if (worst !== undefined) {
    const what = troubles.map((trouble) => trouble.what).join("; ");
    return { ...worst, what, remedy: troubles.map(({ remedy }) => remedy).join("; ") };
  }
  const fine = those("ok");
  return fine.length === 0 ? (verdicts[0] ?? skip("")) : ok(fine.map(({ what }) => what).join(", "));
}

/** A verdict, and a value for later checks; without one those cannot run. */
export interface Found<T> extends Verdict {
  readonly value?: T | null;
}

export interface CheckResult<T = unknown> extends Found<T> {
  readonly id: CheckId;
  readonly durationMs: number;
}

/** What the checks of one diagnosis share. */
export interface Subject {
  readonly context: CommandContext;
  readonly folders: Folders;
  readonly agentUser: AgentUser;
}

export interface Limit {
  readonly limitMs: number;
  /** The verdict when the time is up. */
  readonly late: Verdict;
}

const LOCAL_LIMIT_MS = 5000;

/** Checks of this machine take milliseconds, but can hang on a network drive. */
export const LOCAL_LIMIT: Limit = {
  limitMs: LOCAL_LIMIT_MS,
  late: fail(
    EXIT.failed,
    `not finished within ${LOCAL_LIMIT_MS / 1000} s, so the result is not known`,
    "run doctor again when the machine is less busy; after that look for a hanging disk or drive: dmesg",
  ),
};

/**
 * Runs a check, which gives the verdict of its limit if it hangs (name server, network drive).
 *
 * @param check its signal aborts when the time is up or a person interrupts.
 * @throws the interrupt, and bugs.
 */
export async function examine<T>(
  { machine: { clock }, signal: interrupt }: Pick<CommandContext, "machine" | "signal">,
  id: CheckId,
  { limitMs, late }: Limit,
  check: (signal: AbortSignal) => Promise<Found<T>>,
): Promise<CheckResult<T>> {
  const startedAtMs = clock.monotonicMs();
  const over = new AbortController();
  let found: Found<T>;
  try {
    const work = check(AbortSignal.any([interrupt, over.signal]));
    found = (await within(work, limitMs, clock, interrupt)) ?? late;
  } catch (error) {
    interrupt.throwIfAborted();
    const code = errorCode(error);
    if (code === undefined) throw error;
    const remedy = "run it as root to see whether a permission is missing";
    found = fail(EXIT.failed, `the system refuses this check (${code})`, remedy);
  }
  over.abort(new Error("out of time"));
  return { ...found, id, durationMs: Math.round(clock.monotonicMs() - startedAtMs) };
}
