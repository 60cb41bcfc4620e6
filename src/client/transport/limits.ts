import type { Clock } from "../../platform/clock.ts";
import type { Timeouts } from "./transport.ts";
import { TransportError } from "./transport.ts";

/** The time one exchange has, phase by phase, and the caller's wish to stop, as one signal. */
export interface Limits extends Disposable {
  /** Aborts with a TransportError: `timeout` or `aborted`. */
  readonly signal: AbortSignal;
  /** The connection stands: what counts now is the time to the answer's headers. */
  connected(): void;
  /** The headers are there: only the time for everything is left. */
  answered(): void;
}

/** Starts the time. Disposing of it stops every timer: a finished exchange never wakes the process again. */
export function startLimits(timeouts: Timeouts, clock: Clock, signal: AbortSignal): Limits {
  const limits = new AbortController();
  const onAbort = () => limits.abort(new TransportError("aborted", "ABORTED", "the request was aborted"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });

  /** Returns what stops the timer. */
  const timer = (durationMs: number, code: string, what: string): (() => void) => {
    const stop = new AbortController();
    clock.sleep(durationMs, stop.signal).then(
      () => limits.abort(new TransportError("timeout", code, `${what} within ${durationMs / 1000} s`)),
      () => {},
    );
    return () => stop.abort();
  };

  const stopTotal = timer(timeouts.total_ms, "TOTAL_TIMEOUT", "no whole answer");
  let stopPhase = timer(timeouts.connectMs, "CONNECT_TIMEOUT", "no connection");
  return {
    signal: limits.signal,
    connected() {
      stopPhase();
      stopPhase = timer(timeouts.headers_ms, "HEADERS_TIMEOUT", "no answer");
    },
    answered() {
      stopPhase();
    },
    [Symbol.dispose]() {
      stopPhase();
      stopTotal();
      signal.removeEventListener("abort", onAbort);
    },
  };
}
