/** Probe intervals and timeout. */
export interface ReadinessTimes {
  /** Between probes of an endpoint whose capacity is expected. */
  readonly expectedMs: number;
  /** Between probes of any other endpoint. */
  readonly idleMs: number;
  /** Between probes while their results contradict the known health. No endpoint is probed more often. */
  readonly repeatMs: number;
  /** Limit of one probe, from the connection to the end of the answer. */
  readonly probeTimeoutMs: number;
  /** Between queries for endpoints that are due. */
  readonly tickMs: number;
}

export const READINESS_TIMES: ReadinessTimes = {
  expectedMs: 10_000,
  idleMs: 300_000,
  repeatMs: 2_000,
  probeTimeoutMs: 5_000,
  tickMs: 1_000,
};
