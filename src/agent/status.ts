import type { RobotView } from "../api/robot-views.ts";
import type { LocatedFinding } from "./findings.ts";

/** The document of `status --json` and of GET /status: one shape, whether the daemon runs or not. Members are added, never changed. */
export interface StatusDocument {
  readonly schema_version: 1;
  readonly state: AgentState;
  /** True when the service holds what is on the disk, and nothing asks for a person. */
  readonly healthy: boolean;
  /** One sentence for people. */
  readonly summary: string;
  readonly robot: { readonly name: string; readonly robot_type_id: string | null; readonly view: RobotView | null };
  readonly service: { readonly url: string | null };
  /** The last registration that the service accepted. */
  readonly registration: RegistrationStatus | null;
  /** The last consistent look at the configuration files; null before the first. */
  readonly configuration_digest: string | null;
  /** Set while something is to be sent and was not accepted yet. */
  readonly failure: FailureStatus | null;
  readonly findings: readonly LocatedFinding[];
  readonly watching: {
    readonly mode: "events" | "polling";
    readonly reason: string | null;
    readonly directories: number;
  } | null;
  /** What the service said when it was asked whether it still holds the registration; null while no daemon runs, or nothing is registered. */
  readonly confirmation: ConfirmationStatus | null;
  /** Why the state could not be written, null when it is on the disk. */
  readonly state_problem: string | null;
  /** null while no daemon runs. */
  readonly daemon: DaemonStatus | null;
}

export type AgentState =
  | "starting"
  | "settling"
  | "registering"
  | "registered"
  | "unreachable"
  | "unauthorized"
  | "rejected"
  | "misconfigured"
  | "conflict"
  | "invalid"
  | "draft"
  | "other-machine"
  | "other-name"
  | "rate-capped"
  /** No daemon runs. */
  | "stopped";

export interface RegistrationStatus {
  readonly registered_at: string;
  readonly service_url: string;
  readonly configuration_digest: string;
  readonly files: readonly {
    readonly label: string;
    readonly path: string;
    readonly sha256: string;
    readonly bytes: number;
  }[];
}

export interface ConfirmationStatus {
  /** When the service last was known to hold the registration, ISO 8601 by this machine's clock; null: not since the agent started. */
  readonly confirmed_at: string | null;
  /** Why the service could not be asked since; null where it could. */
  readonly problem: string | null;
  /** When it is asked next. */
  readonly next_at: string;
}

export interface FailureStatus {
  readonly reason: string;
  readonly detail: string;
  /** ISO 8601, by this machine's clock. */
  readonly next_attempt_at: string;
}

export interface DaemonStatus {
  readonly version: string;
  readonly process_id: number;
  readonly started_at: string;
  /** Its folders, so that a command that means others notices. */
  readonly config_path: string;
  readonly state_directory: string;
  /** Requests sent and accepted since then. */
  readonly attempts: number;
  readonly registrations: number;
  /** Runs of the loop since then. */
  readonly runs: number;
}

/** True for what a daemon of this version answers. */
export function isStatusDocument(value: unknown): value is StatusDocument {
  return (
    typeof value === "object" &&
    value !== null &&
    "schema_version" in value &&
    value.schema_version === 1 &&
    "state" in value
  );
}
