import type { Clock } from "../../platform/clock.ts";
import { type Timeouts, TransportError } from "./transport.ts";

/** The time limits of one exchange and the caller's signal, as one signal. */
export type Limits = ReturnType<typeof startLimits>;

/** Starts the limits. Dispose of them after the exchange: a timer would wake the process later. */
export function startLimits(timeouts: Timeouts, clock: Clock, signal: AbortSignal) {
  const limits = new AbortController();
  const onAbort = () => limits.abort(new TransportError("aborted", "ABORTED", "the request was aborted"));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });

  /** @returns a function that stops the timer. */
  const timer = (durationMs: number, code: string, what: string): (() => void) => {
    const stop = new AbortController();
    clock.sleep(durationMs, stop.signal).then(
      () => limits.abort(new TransportError("timeout", code, `${what} within ${durationMs / 1000} s`)),
      () => {},
    );
    return () => stop.abort();
  };

  const stopTotal = timer(timeouts.totalMs, "TOTAL_TIMEOUT", "no whole answer");
  let stopPhase = timer(timeouts.connectMs, "CONNECT_TIMEOUT", "no connection");
  return {
    /** Aborts with a TransportError: `timeout` or `aborted`. */
    signal: limits.signal,
    /** To be called once connected: starts the limit for the answer's headers. */
    connected() {
      stopPhase();
      stopPhase = timer(timeouts.headersMs, "HEADERS_TIMEOUT", "no answer");
    },
    /** To be called when the headers have arrived: only the limit for the whole exchange remains. */
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
