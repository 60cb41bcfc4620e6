import type { RobotView } from "../api/robot-views.ts";
import { isObject } from "../platform/is-object.ts";
import type { Changes } from "./changes.ts";
import type { LocatedFinding } from "./findings.ts";
import type { HoldStatus } from "./hold.ts";
import type { FailureState } from "./outcome.ts";
import type { WatchMode } from "../look/watch.ts";

/** The document of `status --json` and of GET /status, with or without a daemon. Members are added, never changed. */
export interface StatusDocument {
  readonly schema_version: 1;
  readonly state: AgentState;
  /** True when the service has what is on the disk and there is nothing to do for a person. */
  readonly healthy: boolean;
  /** One sentence for people. */
  readonly summary: string;
  readonly robot: { readonly name: string; readonly robot_type_id: string | null; readonly view: RobotView | null };
  readonly service: { readonly url: string | null };
  /** The last registration that the service accepted. */
  readonly registration: RegistrationStatus | null;
  /** The digest of the last snapshot; null before the first. */
  readonly configuration_digest: string | null;
  /** The last failed attempt, while the registration is not accepted; null otherwise. */
  readonly failure: FailureStatus | null;
  readonly findings: readonly LocatedFinding[];
  /** What on the disk differs from the registration; null without one, and before the files were read. */
  readonly changes: Changes | null;
  /** What the last registration since the start changed; null for the first one of a robot. */
  readonly registered_changes: Changes | null;
  /** The hold on registrations, with its holder; null without one. */
  readonly hold: HoldStatus | null;
  /** null while no daemon runs. */
  readonly watching: (WatchMode & { readonly directories: number }) | null;
  /** Whether the service still has the registration; null while no daemon runs, or nothing is registered. */
  readonly confirmation: ConfirmationStatus | null;
  /** The path on which a disk or network drive does not answer; null when all do. */
  readonly hanging: string | null;
  /** Why the state could not be written; null when it is on the disk. */
  readonly state_problem: string | null;
  /** null while no daemon runs. */
  readonly daemon: DaemonStatus | null;
  /** Of a timer that looks each minute in place of a daemon; null without one. */
  readonly timer: TimerStatus | null;
  /** The robot's own credential and how it gets it; null for a robot that uses an API key. While no daemon runs: only an enrolment that waits. */
  readonly identity: IdentityStatus | null;
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
  | "held"
  | "waiting-for-approval"
  | "unenrolled"
  | "frozen"
  | "lapsed"
  | "identity-unreadable"
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
    /** Of a device, what was hashed. */
    readonly line?: string;
    /** The manifest shares the content with the service. */
    readonly share?: true;
  }[];
}

export interface ConfirmationStatus {
  /** When the service last confirmed the registration, ISO 8601 by this machine's clock; null when not since the agent started. */
  readonly confirmed_at: string | null;
  /** Why the last question failed; null when it was answered. */
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

export interface IdentityStatus {
  readonly state: "waiting-for-approval" | "enrolled" | "unenrolled" | "frozen" | "lapsed" | "identity-unreadable";
  /** Of the key that this computer made, as the operator sees it. */
  readonly key_fingerprint: string | null;
  /** The code that an operator approves; null when none waits. */
  readonly user_code: string | null;
  /** Why a person has to approve it although the robot has a key for enrolments; null for no such reason. */
  readonly waits_because: string | null;
  /** By the service's clock, as is `credential_expires_at`. */
  readonly code_expires_at: string | null;
  /** The robot as it was approved; null before. */
  readonly robot: { readonly id: string; readonly name: string } | null;
  readonly installation_id: string | null;
  readonly credential_expires_at: string | null;
  /** When the service last accepted a heartbeat, by this machine's clock; null when not since the agent started. */
  readonly last_heartbeat_at: string | null;
  /** Why the last request about the identity failed; null when it did not. */
  readonly problem: string | null;
  /** What kept an enrolment from its code or credential, as the state of a registration that fails so; null where the cause is on this computer. */
  readonly problem_state: FailureState | null;
}

/** An identity before anything is known. */
export const NO_IDENTITY: IdentityStatus = {
  state: "unenrolled",
  key_fingerprint: null,
  user_code: null,
  waits_because: null,
  code_expires_at: null,
  robot: null,
  installation_id: null,
  credential_expires_at: null,
  last_heartbeat_at: null,
  problem: null,
  problem_state: null,
};

export interface DaemonStatus {
  readonly version: string;
  readonly process_id: number;
  readonly started_at: string;
  /** The daemon's folders, so that a command with other folders notices. */
  readonly config_path: string;
  readonly state_directory: string;
  /** Requests sent, and registrations accepted, since the start. */
  readonly attempts: number;
  readonly registrations: number;
  /** Runs of the loop since the start. */
  readonly runs: number;
}

export interface TimerStatus {
  /** By this machine's clock; null before the first look of a boot. */
  readonly last_look_at: string | null;
  readonly next_look_at: string | null;
  /** In the words of systemd (systemd.exec(5), `$SERVICE_RESULT`): `success`, `timeout`, … */
  readonly last_result: string;
  /** Why the last heartbeat of an enrolled robot was not accepted; null when it was. */
  readonly heartbeat_problem: string | null;
}

/** True for a status document of this version. */
export function isStatusDocument(value: unknown): value is StatusDocument {
  return isObject(value) && value["schema_version"] === 1;
}
