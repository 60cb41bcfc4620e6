/** How often endpoints are looked at, and for how long. */
export interface ReadinessTimes {
  /** Between probes of an endpoint whose capacity is expected. */
  readonly expected_ms: number;
  /** Between probes of any other. */
  readonly idle_ms: number;
  /** Until a probe that contradicts what is known is repeated. No endpoint is probed more often. */
  readonly repeat_ms: number;
  /** One probe, from the connection to the end of the answer. */
  readonly probe_timeout_ms: number;
  /** Between looks at what is due. */
  readonly tick_ms: number;
}

export const READINESS_TIMES: ReadinessTimes = {
  expected_ms: 10_000,
  idle_ms: 300_000,
  repeat_ms: 2_000,
  probe_timeout_ms: 5_000,
  tick_ms: 1_000,
};
