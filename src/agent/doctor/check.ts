import { within } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";

/** In the order of display: each may be the cause of those below it. The ids are stable, for scripts. */
export const CHECK_IDS = [
  "configuration",
  "manifest",
  "files",
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

/** The result of a check. A warning does not prevent registration. */
export type Verdict =
  | { readonly status: "ok"; readonly what: string }
  | { readonly status: "skip"; readonly what: string }
  | { readonly status: "warn"; readonly what: string; readonly remedy: string }
  | {
      readonly status: "fail";
      readonly what: string;
      readonly remedy: string;
      /** The kind of the failure. */
      readonly exitCode: FailureCode;
    };

export type FailureCode = Exclude<ExitCode, typeof EXIT.ok | typeof EXIT.usage | typeof EXIT.interrupted>;

export function ok(what: string): Verdict {
  return { status: "ok", what };
}

export function skip(what: string): Verdict {
  return { status: "skip", what };
}

export function warn(what: string, remedy: string): Extract<Verdict, { status: "warn" }> {
  return { status: "warn", what, remedy };
}

export function fail(exitCode: FailureCode, what: string, remedy: string): Extract<Verdict, { status: "fail" }> {
  return { status: "fail", what, remedy, exitCode };
}

/** One verdict for several: the failures and warnings, or else what is in order. */
export function combine(verdicts: readonly Verdict[]): Verdict {
  const failures = verdicts.filter((verdict) => verdict.status === "fail");
  const warnings = verdicts.filter((verdict) => verdict.status === "warn");
  const troubles = [...failures, ...warnings];
  const [worst] = troubles;
  if (worst !== undefined) {
    const what = troubles.map((trouble) => trouble.what).join("; ");
    return { ...worst, what, remedy: troubles.map((trouble) => trouble.remedy).join("; ") };
  }
  const fine = verdicts.filter((verdict) => verdict.status === "ok");
  return fine.length === 0 ? (verdicts[0] ?? skip("")) : ok(fine.map(({ what }) => what).join(", "));
}

export interface CheckResult {
  readonly id: CheckId;
  readonly verdict: Verdict;
  readonly durationMs: number;
}

/** A verdict, and a value for later checks; without one those cannot run. */
export type Found<T> = Verdict | { readonly verdict: Verdict; readonly value: T | null };

export interface Examined<T> {
  readonly result: CheckResult;
  readonly value: T | null;
}

export interface Limit {
  readonly limitMs: number;
  /** The verdict when the time is up. */
  readonly late: Verdict;
}

/** What all checks of one diagnosis share. */
export interface Subject {
  readonly context: CommandContext;
  readonly folders: Folders;
  readonly agentUser: AgentUser;
  /** When the time for the checks of this machine is up, by the monotonic clock. */
  readonly localDeadlineMs: number;
}

/** Local checks take milliseconds, but can hang on a network drive. This bounds all of them together, … */
export const LOCAL_LIMIT_MS = 8000;
/** … and this is the minimum for each, whatever those before it took. */
const LEAST_LIMIT_MS = 1000;

/** Runs a check of this machine, within the time that is left for those. @throws the interrupt, and bugs. */
export function examineHere<T>(
  subject: Subject,
  id: CheckId,
  check: (signal: AbortSignal) => Promise<Found<T>>,
): Promise<Examined<T>> {
  const leftMs = subject.localDeadlineMs - subject.context.machine.clock.monotonicMs();
  const limitMs = Math.max(LEAST_LIMIT_MS, leftMs);
  const what = `not finished within ${Math.ceil(limitMs / 1000)} s, so the result is not known`;
  const remedy = "run doctor again when the machine is less busy; after that look for a hanging disk or drive: dmesg";
  return examine(subject.context, id, { limitMs, late: fail(EXIT.failed, what, remedy) }, check);
}

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
): Promise<Examined<T>> {
  const startedAtMs = clock.monotonicMs();
  const over = new AbortController();
  let found: Found<T> | null;
  try {
    const work = check(AbortSignal.any([interrupt, over.signal]));
    found = await within(work, limitMs, clock, interrupt);
  } catch (error) {
    interrupt.throwIfAborted();
    found = systemFailure(error);
  }
  over.abort(new Error("out of time"));
  const { verdict, value } = found === null ? { verdict: late, value: null } : withValue(found);
  return { result: { id, verdict, durationMs: Math.round(clock.monotonicMs() - startedAtMs) }, value };
}

function withValue<T>(found: Found<T>): { readonly verdict: Verdict; readonly value: T | null } {
  return "verdict" in found ? found : { verdict: found, value: null };
}

/** @throws errors without a system code, which are bugs. */
function systemFailure(error: unknown): Verdict {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const remedy = "run it as root to see whether a permission is missing";
  return fail(EXIT.failed, `the system refuses this check (${code})`, remedy);
}

/** A check that needs the value of another one, which has none. */
export function skipped(id: CheckId, needed: CheckId): Examined<never> {
  return { result: { id, verdict: skip(`needs ${needed}`), durationMs: 0 }, value: null };
}
