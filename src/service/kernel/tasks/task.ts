/**
 * Work the service does without being asked: probing endpoints, moving deployments and fleets along, metering, tidying up.
 *
 * Any replica may run any task at any time, several at once: what a task does is idempotent, and claims what it works on.
 */
export interface Task {
  /** For the log. */
  readonly name: string;
  /** Longest time between two runs; a nudge brings the next one forward. */
  readonly intervalMs: number;
  /** For what requests do not make due: nudges bring no run forward. */
  readonly ignoresNudges?: boolean;
  /** After a run, so many times as long as it took belong to requests, however often it is nudged; none when not given. */
  readonly restRatio?: number;
  /** One run. A failure is logged and the next run comes as usual. */
  run(signal: AbortSignal): Promise<void>;
}
