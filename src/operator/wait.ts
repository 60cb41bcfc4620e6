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

/** How long `--wait` waits where nobody says. */
const TIMEOUT_MS = 30 * 60_000;
/** Between two looks: soon at first, because much is ready at once, and less often the longer it takes. */
const LOOK_MS = { first: 250, longest: 2000, growth: 1.5 } as const;
/** While the service cannot be reached. */
const BACKOFF = { firstMs: 2000, capMs: 30_000 } as const;

/** What one look at something that is under way shows. */
export interface Look {
  /** Drawn over on a terminal. */
  readonly lines: readonly string[];
  /** One line; where nothing can be drawn over it is told whenever it changes. */
  readonly summary: string;
  /** Null while it goes on. */
  readonly ended: Ended | null;
}

/** How it ended; `problem` says what is to be done about it. */
export interface Ended {
  readonly exitCode: ExitCode;
  readonly problem: Problem | null;
}

export interface Waiting {
  readonly look: () => Promise<CallResult<Look>>;
  readonly timeoutMs: number;
  /** What to do where the time is over. */
  readonly later: string;
}

/** The time of `--timeout`, or null after telling that it is none. */
export function waitTimeout({ timeout }: WaitFlags, terminal: Terminal): number | null {
  if (timeout === undefined) return TIMEOUT_MS;
  const timeoutMs = readDuration(timeout);
  if (timeoutMs !== null) return timeoutMs;
  const what = `--timeout '${timeout}' is no length of time`;
  terminal.problem({ code: "usage", what, fix: "write it as 90s, 10m or 2h, a week at most" });
  return null;
}

/**
 * Looks until it has ended, the time is over, or the operator interrupts. What passes by itself, a service that restarts for example,
 * is waited for.
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
        // The problem or the command's result says it; here it would be said twice.
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
      if (!isLost) terminal.note(`${failureInWords(result)}; asking on`);
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
