import type { Snapshot } from "../fingerprint/snapshot.ts";
import type { RobotManifest } from "../manifest/manifest.ts";
import { type Clock, isoTime } from "../platform/clock.ts";
import type { Collector } from "./collector.ts";
import type { Outcome } from "./outcome.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Confirmation } from "./registration/confirmation.ts";
import type { Registration } from "./registration/record.ts";
import { STATES } from "./states.ts";
import type {
  AgentState,
  ConfirmationStatus,
  DaemonStatus,
  FailureStatus,
  IdentityStatus,
  RegistrationStatus,
  StatusDocument,
} from "./status.ts";
import type { WatchMode } from "./watching/watcher.ts";
import { isError } from "../manifest/finding.ts";

/** The parts of a status document, from the daemon or a one-shot command. */
export interface AgentFacts {
  readonly state: AgentState;
  readonly collector: Pick<Collector, "robotName" | "snapshot"> & {
    readonly manifest: Pick<RobotManifest, "robot_type_id"> | null;
  };
  readonly reconciler: Pick<Reconciler, "registration" | "failure" | "findings" | "stateProblem"> & {
    /** null in one-shot commands, which do not confirm. */
    readonly confirmation: Confirmation | null;
  };
  readonly serviceUrl: string | null;
  readonly watching: (WatchMode & { readonly directories: number }) | null;
  readonly daemon: DaemonStatus | null;
  readonly clock: Clock;
  /** The path on which the disk hangs; null when it answers. */
  readonly hanging: string | null;
  /** null without an identity, and in one-shot commands. */
  readonly identity: IdentityStatus | null;
}

export function describeAgent(facts: AgentFacts): StatusDocument {
  const { state, collector, reconciler } = facts;
  const { registration } = reconciler;
  const findings = reconciler.findings;
  const { showsFailure, summary } = STATES[state];
  const failure = showsFailure ? reconciler.failure : null;
  const robotName = collector.robotName;
  return {
    schema_version: 1,
    state,
    healthy: state === "registered" && facts.hanging === null && !findings.some(isError),
    summary:
      facts.hanging === null
        ? summary({ robotName, findings, detail: failure?.detail ?? null, identity: facts.identity })
        : `Waiting for ${facts.hanging}: the disk or network drive does not answer`,
    robot: {
      name: robotName,
      robot_type_id: collector.manifest?.robot_type_id ?? null,
      view: registration?.robot ?? null,
    },
    service: { url: facts.serviceUrl },
    registration: registration === null ? null : describeRegistration(registration),
    // While a file cannot be read, the digest on disk is unknown.
    configuration_digest: state === "invalid" ? null : (collector.snapshot?.digest ?? null),
    failure: failure === null ? null : describeFailure(failure, facts.clock),
    findings,
    watching: facts.watching === null ? null : describeWatching(facts.watching),
    confirmation:
      registration === null || reconciler.confirmation === null
        ? null
        : describeConfirmation(reconciler.confirmation, facts.clock),
    hanging: facts.hanging,
    state_problem: reconciler.stateProblem,
    daemon: facts.daemon,
    identity: facts.identity,
  };
}

function describeRegistration(registration: Registration): RegistrationStatus {
  return {
    registered_at: registration.registered_at,
    service_url: registration.service_url,
    configuration_digest: registration.request.configuration_digest,
    files: describeFiles(registration.files),
  };
}

/** The files as documents for people show them, without their stats. */
export function describeFiles(files: Snapshot["files"]): RegistrationStatus["files"] {
  return files.map(({ label, path, sha256, bytes }) => ({ label, path, sha256, bytes }));
}

function describeWatching(watching: NonNullable<AgentFacts["watching"]>): StatusDocument["watching"] {
  const { mode, directories } = watching;
  return { mode, reason: watching.mode === "polling" ? watching.reason : null, directories };
}

function describeFailure({ reason, detail, retryAtMs }: Outcome, clock: Clock): FailureStatus {
  return { reason, detail, next_attempt_at: toWallTime(retryAtMs, clock) };
}

function describeConfirmation({ confirmedAt, problem, dueMs }: Confirmation, clock: Clock): ConfirmationStatus {
  return { confirmed_at: confirmedAt, problem, next_at: toWallTime(dueMs, clock) };
}

/** Converts a monotonic time to the current wall clock; times in the past become now. */
function toWallTime(momentMs: number, clock: Clock): string {
  const inMs = Math.max(0, momentMs - clock.monotonicMs());
  return isoTime(clock.wallMs() + inMs);
}
