/**
 * Background work of the service: probing endpoints, reconciling deployments and fleets, metering, cleaning up.
 *
 * Several replicas may run the same task at once: a task is idempotent, and claims the rows it works on.
 */
export interface Task {
  /** For the log. */
  readonly name: string;
  /** Longest time between two runs; a nudge brings the next one forward. */
  readonly intervalMs: number;
  /** Nudges do not bring a run forward; for work that no request makes due. */
  readonly ignoresNudges?: boolean;
  /** Pause after a run as a multiple of its duration, even when nudged, to leave time for requests; 0 by default. */
  readonly restRatio?: number;
  /** One run. A failure is logged, and the task runs again after a backoff. */
  run(signal: AbortSignal): Promise<void>;
}
