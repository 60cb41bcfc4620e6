import type { Environment } from "../../client/transport/proxy.ts";
import { type Clock, within } from "../../platform/clock.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import type { AgentUser } from "../access/agent-user.ts";
import type { CommandContext } from "../commands/context.ts";
import type { Folders } from "../configuration/folders.ts";
import type { StatusDocument } from "../status.ts";
import type { TimeService } from "./time-service.ts";

/** In the order of display: each may be the cause of those below it. The ids are stable, for scripts. */
export const CHECK_IDS = [
  "configuration",
  "manifest",
  "user",
  "files",
  "key",
  "identity",
  "state",
  "disk",
  "inotify",
  "unit",
  "daemon",
  "dns",
  "tcp",
  "proxy",
  "tls",
  "service",
  "clock",
  "authentication",
  "region",
  "registration",
] as const;

export type CheckId = (typeof CHECK_IDS)[number];

/** The result of a check. A warning does not prevent registration. */
export type Verdict =
  | { readonly status: "ok"; readonly what: string }
  | { readonly status: "skip"; readonly what: string }
  | {
      readonly status: "warn";
      readonly what: string;
      readonly remedy: string;
      /** For a region without an endpoint: the regions that have one. */
      readonly regions?: readonly string[];
    }
  | {
      readonly status: "fail";
      readonly what: string;
      readonly remedy: string;
      /** The kind of the failure. */
      readonly exitCode: FailureCode;
      /** True when `service.ca_file` is missing or wrong. */
      readonly isAboutAuthority?: boolean;
    };

export type FailureCode = Exclude<ExitCode, typeof EXIT.ok | typeof EXIT.usage | typeof EXIT.interrupted>;

export interface CheckResult {
  readonly id: CheckId;
  readonly verdict: Verdict;
  readonly durationMs: number;
}

/** A verdict, and a value for later checks; without one those cannot run. */
export type Examined<T> = Verdict | { readonly verdict: Verdict; readonly value: T | null };

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

/** @param signal aborts when the time of the check is up or a person interrupts. */
export type Check<T> = (signal: AbortSignal) => Examined<T> | Promise<Examined<T>>;

export interface Limit {
  readonly limitMs: number;
  /** The verdict when the time is up. */
  readonly late: Verdict;
}

/** Runs checks with a time limit each, and yields their results. */
export type Examination = ReturnType<typeof startExamination>;

export function startExamination(clock: Clock, interrupt: AbortSignal) {
  const results = new Map(CHECK_IDS.map((id) => [id, Promise.withResolvers<CheckResult>()]));

  function conclude(id: CheckId, verdict: Verdict, durationMs: number): void {
    results.get(id)?.resolve({ id, verdict, durationMs: Math.round(durationMs) });
  }

  return {
    /**
     * @param limit the time limit of the check, and the verdict when it is exceeded.
     * @returns the value for later checks.
     * @throws the interrupt, and bugs.
     */
    async run<T>(id: CheckId, limit: Limit, check: Check<T>): Promise<T | null> {
      const startedAtMs = clock.monotonicMs();
      const examined = await examineWithin(limit, clock, interrupt, check);
      const { verdict, value } = "verdict" in examined ? examined : { verdict: examined, value: null };
      conclude(id, verdict, clock.monotonicMs() - startedAtMs);
      return value;
    },
    skip: (id: CheckId, why: string) => conclude(id, skip(why), 0),
    result(id: CheckId): Promise<CheckResult> {
      const result = results.get(id);
      if (result === undefined) throw new Error(`there is no check ${id}`);
      return result.promise;
    },
  };
}

/** A check that hangs (name server, network drive) gives the verdict of its limit. */
async function examineWithin<T>(
  { limitMs, late }: Limit,
  clock: Clock,
  interrupt: AbortSignal,
  check: Check<T>,
): Promise<Examined<T>> {
  const limit = new AbortController();
  try {
    const work = Promise.resolve(check(AbortSignal.any([interrupt, limit.signal])));
    const examined = await within(work, limitMs, clock, interrupt);
    if (examined !== null) return examined;
    limit.abort(new Error("out of time"));
    return late;
  } catch (error) {
    if (interrupt.aborted) throw interrupt.reason;
    return systemFailure(error);
  }
}

/** @throws errors without a system code, which are bugs. */
function systemFailure(error: unknown): Verdict {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return fail(
    EXIT.failed,
    `the system refuses this check (${code})`,
    "run it as root to see whether a permission is missing",
  );
}

/** What all checks of one diagnosis share. */
export interface Subject {
  readonly examination: Examination;
  /** With the environment of the running agent, where it can be read. */
  readonly context: CommandContext;
  readonly folders: Folders;
  readonly agentUser: AgentUser;
  readonly timeService: Promise<TimeService>;
  readonly startedAtMs: number;
  /** The status of the running agent; null when none answers. */
  readonly status: StatusDocument | null;
  /** The environment of this command. */
  readonly shell: Environment;
}

/** Local checks take milliseconds, but can hang on a network drive. This bounds all of them together, … */
const LOCAL_LIMIT_MS = 8000;
/** … and this is the minimum for each, whatever those before it took. */
const LEAST_LIMIT_MS = 1000;

/** Runs a check of this machine, within the time that is left for those. @returns its value for later checks. */
export function examineHere<T>(
  { examination, context, startedAtMs }: Subject,
  id: CheckId,
  check: Check<T>,
): Promise<T | null> {
  const leftMs = startedAtMs + LOCAL_LIMIT_MS - context.machine.clock.monotonicMs();
  const limitMs = Math.max(LEAST_LIMIT_MS, leftMs);
  const what = `not finished within ${Math.ceil(limitMs / 1000)} s, so the result is not known`;
  const remedy = "run doctor again when the machine is less busy; after that look for a hanging disk or drive: dmesg";
  const late = fail(EXIT.failed, what, remedy);
  return examination.run(id, { limitMs, late }, check);
}

/** Skips checks that need the result of another one. */
export function skipAll({ examination }: Subject, ids: readonly CheckId[], needed: CheckId): void {
  for (const id of ids) examination.skip(id, `needs ${needed}`);
}
