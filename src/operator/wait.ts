import type { CallResult } from "../client/call-result.ts";
import { createBackoff } from "../platform/retry.ts";
import type { ExitCode, Problem, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import { shortDuration } from "../platform/text/relative-time.ts";
import type { OperatorContext, OperatorFlags } from "./context.ts";
import { readDuration } from "./durations.ts";
import { failureInWords } from "./failure.ts";
import { isPassing } from "./lists/watch.ts";
import type { Service } from "./service.ts";

export interface WaitFlags extends OperatorFlags {
  readonly wait?: boolean;
  readonly timeout?: string;
}

/** The default of `--timeout`. */
const TIMEOUT_MS = 30 * 60_000;
/** Poll interval: short at first, because many changes are ready at once, then growing. */
const LOOK_MS = { first: 250, longest: 2000, growth: 1.5 } as const;
/** While the service is unreachable. */
const BACKOFF = { firstMs: 2000, capMs: 30_000 } as const;

/** The state of a running change, from one poll. */
export interface Look {
  /** Redrawn on a terminal. */
  readonly lines: readonly string[];
  /** One line; printed when it changes, where the output is not a terminal. */
  readonly summary: string;
  /** Null while it continues. */
  readonly ended: Ended | null;
}

/** How it ended; `problem` says what to do. */
export interface Ended {
  readonly exitCode: ExitCode;
  readonly problem: Problem | null;
}

export interface Waiting {
  readonly look: () => Promise<CallResult<Look>>;
  readonly timeoutMs: number;
  /** What to do after a timeout. */
  readonly later: string;
}

/** `--timeout` in milliseconds; null after reporting an invalid one. */
export function waitTimeout({ timeout }: WaitFlags, terminal: Terminal): number | null {
  if (timeout === undefined) return TIMEOUT_MS;
  const timeoutMs = readDuration(timeout);
  if (timeoutMs !== null) return timeoutMs;
  const what = `--timeout '${timeout}' is not a duration`;
  terminal.problem({ code: "usage", what, fix: "write it as 90s, 10m or 2h, a week at most" });
  return null;
}

/**
 * Polls until the change has ended, the time is over, or the operator interrupts. Continues after temporary failures, such as a restart of the
 * service.
 */
export async function waitUntilEnded(
  service: Service,
  { look, timeoutMs, later }: Waiting,
  context: OperatorContext,
): Promise<ExitCode> {
  const { terminal, machine, signal } = context;
  const { clock } = machine;
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  const backoff = createBackoff({ ...BACKOFF, random: machine.random });
  let summary = "unknown";
  let isLost = false;
  let lookMs: number = LOOK_MS.first;
  for (;;) {
    const result = await look();
    signal.throwIfAborted();
    let pauseMs = lookMs;
    lookMs = Math.min(LOOK_MS.longest, lookMs * LOOK_MS.growth);
    if (result.kind === "ok") {
      const { value } = result;
      if (value.ended !== null) {
        // The problem or the command's result repeats this line.
        terminal.draw([]);
        if (value.ended.problem !== null) terminal.problem(value.ended.problem);
        return value.ended.exitCode;
      }
      if (terminal.interactive) terminal.draw(value.lines);
      else if (value.summary !== summary) terminal.note(value.summary);
      ({ summary } = value);
      isLost = false;
      backoff.reset();
    } else {
      if (!isPassing(result)) return service.failed(result);
      if (!isLost) terminal.note(`${failureInWords(result)}; trying again`);
      isLost = true;
      pauseMs = backoff.nextMs(result.kind === "refused" ? result.retry_after_ms : null);
    }
    const leftMs = deadlineMs - clock.monotonicMs();
    if (leftMs <= 0) {
      terminal.problem({ code: "timeout", what: `after ${shortDuration(timeoutMs)}: ${summary}`, fix: later });
      return EXIT.failed;
    }
    await clock.sleep(Math.min(pauseMs, leftMs), signal);
  }
}
