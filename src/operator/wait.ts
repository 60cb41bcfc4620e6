import type { CallResult } from "../client/call-result.ts";
import { createBackoff } from "../platform/retry.ts";
import { EXIT, type ExitCode, type Problem } from "../platform/terminal.ts";
import { chosenDuration } from "../platform/text/relative-time.ts";
import { within } from "../platform/clock.ts";
import { failureText, isTemporary, isUnknownOperation } from "./failure.ts";
import { refuse } from "./refuse.ts";
import type { Service } from "./service.ts";

/** The default of `--timeout`. */
const TIMEOUT_MS = 30 * 60_000;
/** Poll interval: short at first, because many changes are ready at once, then growing. */
const LOOK_MS = { first: 250, longest: 2000, growth: 1.5 } as const;
/** While the service is unreachable. */
const BACKOFF = { firstMs: 2000, capMs: 30_000 } as const;
/** How long the last poll may take, where less than this of the time is left. */
const LAST_POLL_MS = 1000;

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

interface Waiting<State> {
  /** The state in the answer to the change. */
  readonly first: State;
  readonly fetch: () => Promise<CallResult<State>>;
  readonly look: (state: State) => Look;
  /** What to do after a timeout, which found this state. */
  readonly later: (last: State) => string;
}

export interface Waited<State> {
  readonly exitCode: ExitCode;
  readonly last: State;
}

/**
 * Polls until the change has ended, the time is over, or the operator interrupts. Continues after temporary failures, such as a restart of the
 * service.
 */
export async function waitUntilEnded<State>(
  service: Service,
  { first, fetch, look, later }: Waiting<State>,
): Promise<Waited<State>> {
  const { terminal, machine, signal } = service.context;
  const { clock } = machine;
  const timeoutMs = service.flags.timeout ?? TIMEOUT_MS;
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  const backoff = createBackoff({ ...BACKOFF, random: machine.random });
  let last = first;
  let result: CallResult<State> | null = { kind: "ok", status: 200, value: first };
  let shown = "unknown";
  let isLost = false;
  let lookMs: number = LOOK_MS.first;
  for (;;) {
    let pauseMs = lookMs;
    lookMs = Math.min(LOOK_MS.longest, lookMs * LOOK_MS.growth);
    if (result?.kind === "ok") {
      last = result.value;
      const { lines, summary, ended } = look(last);
      if (ended !== null) {
        // The problem or the command's result repeats this line.
        terminal.draw([]);
        if (ended.problem !== null) terminal.problem(ended.problem);
        return { exitCode: ended.exitCode, last };
      }
      if (terminal.interactive) terminal.draw(lines);
      else if (summary !== shown) terminal.note(summary);
      shown = summary;
      isLost = false;
      backoff.reset();
    } else if (result !== null) {
      if (isUnknownOperation(result)) {
        const what = `the service has accepted it, and does not offer to show how it goes on: ${shown}`;
        const problem = { code: "not-offered", what, fix: "leave --wait out" };
        return { exitCode: refuse(problem, EXIT.rejected, terminal), last };
      }
      if (!isTemporary(result)) return { exitCode: service.failed(result), last };
      if (!isLost) terminal.note(`${failureText(result)}; trying again`);
      isLost = true;
      pauseMs = backoff.nextMs(result.kind === "refused" ? result.retryAfterMs : null);
    }
    const leftMs = deadlineMs - clock.monotonicMs();
    if (leftMs <= 0) {
      const what = `after ${chosenDuration(timeoutMs)}: ${shown}`;
      return { exitCode: refuse({ code: "timeout", what, fix: later(last) }, EXIT.failed, terminal), last };
    }
    await clock.sleep(Math.min(pauseMs, leftMs), signal);
    // A service may not answer, or ask for pauses that are longer than the wait.
    result = await within(fetch(), Math.max(LAST_POLL_MS, deadlineMs - clock.monotonicMs()), clock, signal);
    signal.throwIfAborted();
  }
}
