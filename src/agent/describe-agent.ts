import type { Snapshot } from "../look/snapshot.ts";
import type { RobotManifest } from "../manifest/manifest.ts";
import { type Clock, isoTime } from "../platform/clock.ts";
import type { Collector } from "./collector.ts";
import { describeHold } from "./hold.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Confirmation } from "./registration/confirmation.ts";
import { STATES } from "./states.ts";
import type { RegistrationStatus, StatusDocument } from "./status.ts";
import { isError } from "../documents/findings.ts";

/** The parts of a status document, from the daemon or a one-shot command. */
export interface AgentFacts extends Pick<StatusDocument, "state" | "watching" | "daemon" | "hanging" | "identity"> {
  readonly collector: Pick<Collector, "robotName" | "snapshot"> & {
    readonly manifest: Pick<RobotManifest, "robot_type_id"> | null;
  };
  readonly reconciler: Pick<
    Reconciler,
    "registration" | "failure" | "findings" | "stateProblem" | "changes" | "hold"
  > & {
    /** null in one-shot commands, which do not confirm. */
    readonly confirmation: Confirmation | null;
  };
  readonly serviceUrl: string | null;
  readonly clock: Clock;
}

export function describeAgent(facts: AgentFacts): StatusDocument {
  const { state, collector, reconciler, watching, daemon, hanging, identity } = facts;
  const { registration, findings, confirmation } = reconciler;
  const { showsFailure, summary } = STATES[state];
  const failure = showsFailure ? reconciler.failure : null;
  const { robotName } = collector;
  const hold = reconciler.hold === null ? null : describeHold(reconciler.hold, facts.clock);
  return {
    schema_version: 1,
    state,
    healthy: state === "registered" && hanging === null && !findings.some(isError),
    summary:
      hanging === null
        ? summary({ robotName, findings, detail: failure?.detail ?? null, identity, hold })
        : `Waiting for ${hanging}: the disk or network drive does not answer`,
    robot: {
      name: robotName,
      robot_type_id: collector.manifest?.robot_type_id ?? null,
      view: registration?.robot ?? null,
    },
    service: { url: facts.serviceUrl },
    registration:
      registration === null
        ? null
        : {
            registered_at: registration.registered_at,
            service_url: registration.service_url,
            configuration_digest: registration.request.configuration_digest,
            files: describeFiles(registration.files),
          },
    // While a file cannot be read, the digest on disk is unknown.
    configuration_digest: state === "invalid" ? null : (collector.snapshot?.digest ?? null),
    failure:
      failure === null
        ? null
        : {
            reason: failure.reason,
            detail: failure.detail,
            next_attempt_at: toWallTime(failure.retryAtMs, facts.clock),
          },
    findings,
    changes: reconciler.changes.sinceRegistration,
    registered_changes: reconciler.changes.ofRegistration,
    hold,
    watching,
    confirmation:
      registration === null || confirmation === null
        ? null
        : {
            confirmed_at: confirmation.confirmedAt,
            problem: confirmation.problem,
            next_at: toWallTime(confirmation.dueMs, facts.clock),
          },
    hanging,
    state_problem: reconciler.stateProblem,
    daemon,
    timer: null,
    identity,
  };
}

/** The files as documents for people show them, without their stats. */
export function describeFiles(files: Snapshot["files"]): RegistrationStatus["files"] {
  return files.map(({ label, path, sha256, bytes, line, share }) => {
    return { label, path, sha256, bytes, ...(line === undefined ? {} : { line }), ...(share === true && { share }) };
  });
}

/** Converts a monotonic time to the current wall clock; times in the past become now. */
function toWallTime(momentMs: number, clock: Clock): string {
  const inMs = Math.max(0, momentMs - clock.monotonicMs());
  return isoTime(clock.wallMs() + inMs);
}
