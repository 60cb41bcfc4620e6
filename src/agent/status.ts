import type { RobotView } from "../api/robot-views.ts";
import type { ExitCode } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
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

/** Which exit code a state deserves, for `status` and for one-shot commands. */
export function exitCodeOf(status: Pick<StatusDocument, "state" | "healthy">): ExitCode {
  switch (status.state) {
    case "registered":
      // An edit that cannot be used is on the disk although the last good one is in force.
      return status.healthy ? EXIT.ok : EXIT.invalid;
    case "starting":
    case "settling":
    case "registering":
    case "rate-capped":
      return EXIT.ok;
    case "unreachable":
      return EXIT.unreachable;
    case "unauthorized":
      return EXIT.unauthorized;
    case "rejected":
    case "misconfigured":
      return EXIT.rejected;
    case "conflict":
    case "other-machine":
    case "other-name":
      return EXIT.conflict;
    case "invalid":
    case "draft":
      return EXIT.invalid;
    case "stopped":
      return EXIT.failed;
  }
}

/** What the agent knows when it is asked. */
export interface StateFacts {
  readonly state: AgentState;
  readonly robot_name: string;
  readonly findings: readonly LocatedFinding[];
  readonly detail: string | null;
}

/** One sentence about a state, for STATUS=, logs and people. It holds no time that ticks, so that it changes only when the state does. */
export function summarize(facts: StateFacts): string {
  const { state, robot_name } = facts;
  const why = facts.detail === null ? "" : `: ${facts.detail}`;
  switch (state) {
    case "starting":
      return "Starting";
    case "settling":
      return "Waiting for configuration files to hold still";
    case "registering":
      return `Registering ${robot_name}`;
    case "registered": {
      const error = facts.findings.find(({ severity }) => severity === "error");
      return error === undefined
        ? `Registered as ${robot_name}`
        : `Registered as ${robot_name}, but an edit cannot be used: ${place(error)}`;
    }
    case "unreachable":
      return `Service unreachable, retrying${why}`;
    case "unauthorized":
      return `Key not accepted${why}`;
    case "rejected":
      return `Registration refused by the service${why}`;
    case "misconfigured":
      return `Not a robot policy service? Check service.url${why}`;
    case "conflict":
      return `The service reports a conflict${why}`;
    case "invalid": {
      const error = facts.findings.find(({ severity }) => severity === "error");
      return error === undefined ? "Nothing valid to register" : `Not registering: ${place(error)}`;
    }
    case "draft":
      return "The manifest is a draft; set status: ready to register";
    case "other-machine":
      return "This state belongs to another machine (a copied image?); run: robot-policy-agent rebind";
    case "other-name":
      return `Registered under another name than ${robot_name}; set the name back, or for a new robot run: robot-policy-agent rebind`;
    case "rate-capped":
      return "Files change often; the next registration is held back for a moment";
    case "stopped":
      return "The agent is not running";
  }
}

/** The summary for where the findings stand below it: without the place and the text of the first. */
export function summaryAboveFindings({ summary, findings }: Pick<StatusDocument, "summary" | "findings">): string {
  const error = findings.find(({ severity }) => severity === "error");
  const repeated = error === undefined ? "" : `: ${place(error)}`;
  return repeated !== "" && summary.endsWith(repeated) ? summary.slice(0, -repeated.length) : summary;
}

function place(finding: LocatedFinding): string {
  return `${finding.file}:${finding.line}:${finding.column}: ${finding.message}`;
}
