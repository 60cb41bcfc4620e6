/** The properties of one state of the agent. A new state is one more row in `STATES`. */
import { EXIT, type ExitCode, type Problem } from "../platform/terminal.ts";
import type { LocatedFinding } from "./findings.ts";
import type { HoldStatus } from "./hold.ts";
import {
  credentialFix,
  enrolmentFix,
  IDENTITY_UNREADABLE_FIX,
  OTHER_MACHINE_FIX,
  OTHER_NAME_FIX,
  REFUSED_FIX,
  unreachableFix,
} from "./remedies.ts";
import { type AgentState, type IdentityStatus, NO_IDENTITY, type StatusDocument } from "./status.ts";
import { isError } from "../documents/findings.ts";

interface StateRow {
  /** For `status` and one-shot commands. */
  readonly exit: ExitCode;
  /** The log level; null for transient states, which are not logged. */
  readonly level: "info" | "warn" | null;
  /** True when the last failure explains the state. */
  readonly showsFailure: boolean;
  /** One sentence, for people and STATUS=. Contains no times, so that it changes only with the state. */
  readonly summary: (facts: StateFacts) => string;
  /** What a person has to do; null when there is nothing to do. */
  readonly problem: ((status: StatusDocument) => Problem) | null;
}

/** The inputs of a summary. */
export interface StateFacts {
  readonly robotName: string;
  readonly findings: readonly LocatedFinding[];
  readonly detail: string | null;
  readonly identity: IdentityStatus | null;
  readonly hold?: HoldStatus | null;
}

export const STATES: Readonly<Record<AgentState, StateRow>> = {
  starting: passing(() => "Starting"),
  settling: passing(() => "Waiting for writes to configuration files to finish"),
  registering: passing(({ robotName }) => `Registering ${robotName}`),
  registered: {
    ...passing(({ robotName, findings }) => {
      const error = findings.find(isError);
      return error === undefined
        ? `Registered as ${robotName}`
        : `Registered as ${robotName}, but an edit is invalid: ${placeOf(error)}`;
    }),
    level: "info",
  },
  held: {
    ...passing(({ hold }) => {
      const why = hold?.reason ?? null;
      return `Held by ${hold?.held_by ?? "somebody"}${why === null ? "" : ` (${why})`}: nothing is registered until ${hold?.until ?? "the end"}`;
    }),
    level: "info",
  },
  "rate-capped": { ...passing(() => "Files change often; the next registration is delayed"), level: "info" },
  unreachable: failed(
    EXIT.unreachable,
    (facts) => `Service unreachable, retrying${because(facts)}`,
    (status) => atService(status, "service-unreachable", unreachableFix(status.failure?.reason)),
  ),
  unauthorized: failed(
    EXIT.unauthorized,
    (facts) => `Key not accepted${because(facts)}`,
    (status) => atService(status, "unauthorized", credentialFix(status)),
  ),
  rejected: failed(
    EXIT.rejected,
    (facts) => `Registration refused by the service${because(facts)}`,
    (status) => atService(status, "rejected", "correct the findings; the agent registers again when an input changes"),
  ),
  misconfigured: failed(
    EXIT.rejected,
    (facts) => `Not a robot policy service? Check service.url${because(facts)}`,
    (status) => ({
      ...atService(status, "misconfigured", "check service.url in the configuration"),
      what: `this does not look like a robot policy service: ${detailOf(status)}`,
    }),
  ),
  conflict: failed(
    EXIT.conflict,
    (facts) => `The service reports a conflict${because(facts)}`,
    (status) =>
      atService(
        status,
        "conflict",
        "another robot may have this name; choose another robot.name, or remove the other robot",
      ),
  ),
  invalid: refused(
    EXIT.invalid,
    ({ findings }) => {
      const error = findings.find(isError);
      return error === undefined ? "Nothing valid to register" : `Not registering: ${placeOf(error)}`;
    },
    ({ registration }) => ({
      code: "invalid",
      what: `nothing is registered while an input is invalid${registration === null ? "" : "; the last registration stays"}`,
      fix: "correct the findings above, then: robot-policy-agent check",
    }),
  ),
  draft: {
    ...refused(
      EXIT.invalid,
      () => "The manifest is a draft; set status: ready to register",
      () => ({
        code: "draft",
        what: "the manifest is a draft, and drafts are not registered",
        fix: "set status: ready in the manifest",
      }),
    ),
    level: "info",
  },
  "other-machine": refused(
    EXIT.conflict,
    () => "The state belongs to another machine (a copied image?); run: robot-policy-agent rebind",
    () => ({
      code: "other-machine",
      what: "the state was written on another machine, as in a copied image; nothing was sent",
      fix: OTHER_MACHINE_FIX,
    }),
  ),
  "other-name": refused(
    EXIT.conflict,
    ({ robotName }) =>
      `Registered under another name than ${robotName}; set the name back, or for a new robot run: robot-policy-agent rebind`,
    ({ robot }) => ({
      code: "other-name",
      what: `this robot is registered as ${robot.view?.name ?? "another name"}, but its name is now ${robot.name}; nothing was sent`,
      fix: OTHER_NAME_FIX,
    }),
  ),
  "waiting-for-approval": refused(
    EXIT.unauthorized,
    ({ identity }) => {
      const {
        user_code: code,
        key_fingerprint: fingerprint,
        waits_because: because,
        problem,
      } = identity ?? NO_IDENTITY;
      if (code !== null)
        return `Waiting for approval of the code ${code}, key ${fingerprint ?? "unknown"}${because === null ? "" : `: ${because}`}`;
      return problem === null ? "Asking the service to enroll this robot" : `Not enrolled yet, retrying: ${problem}`;
    },
    (status) => atIdentity(status, "waiting-for-approval", enrolmentFix(status.identity ?? NO_IDENTITY)),
  ),
  unenrolled: notAccepted("unenrolled", "The service does not accept this robot's credential any more"),
  frozen: notAccepted("frozen", "Frozen by the service: two computers used this robot's credential"),
  lapsed: notAccepted("lapsed", "The credential lapsed and may not be renewed"),
  "identity-unreadable": refused(
    EXIT.failed,
    (facts) => `Nothing is sent${because(identityFacts(facts))}`,
    (status) => ({
      ...atIdentity(status, "identity-unreadable", IDENTITY_UNREADABLE_FIX),
      where: status.daemon?.state_directory ?? "the state directory",
    }),
  ),
  stopped: {
    ...refused(
      EXIT.failed,
      () => "The agent is not running",
      () => ({
        code: "not-running",
        what: "the agent is not running; changes are not noticed",
        fix: "start it: robot-policy-agent run, or systemctl start robot-policy-agent where it is a service",
      }),
    ),
    level: "info",
  },
};

/** A state that passes by itself: nothing is wrong, and there is nothing to do. */
function passing(summary: StateRow["summary"]): StateRow {
  return { exit: EXIT.ok, level: null, showsFailure: false, summary, problem: null };
}

/** Nothing is sent until a person acts. */
function refused(exit: ExitCode, summary: StateRow["summary"], problem: NonNullable<StateRow["problem"]>): StateRow {
  return { exit, level: "warn", showsFailure: false, summary, problem };
}

/** The service does not accept the robot's identity. */
function notAccepted(state: keyof typeof REFUSED_FIX, what: string): StateRow {
  return refused(
    EXIT.unauthorized,
    (facts) => `${what}${because(identityFacts(facts))}`,
    (status) => atIdentity(status, state, REFUSED_FIX[state]),
  );
}

/** The last attempt failed. */
function failed(exit: ExitCode, summary: StateRow["summary"], problem: NonNullable<StateRow["problem"]>): StateRow {
  return { ...refused(exit, summary, problem), showsFailure: true };
}

/** The exit code for a status, for `status` and for one-shot commands. */
export function exitCodeOf({
  state,
  healthy,
  hanging,
  identity,
}: Pick<StatusDocument, "state" | "healthy" | "hanging" | "identity">): ExitCode {
  if (state === "waiting-for-approval" && identity !== null) return exitCodeOfIdentity(identity);
  const { exit } = STATES[state];
  if (exit !== EXIT.ok) return exit;
  if (hanging !== null) return EXIT.failed;
  // The disk has an invalid edit, and the last valid configuration is in force.
  return state === "registered" && !healthy ? EXIT.invalid : exit;
}

/** The exit code for an identity. While a robot has no code for an operator to approve, it tells what prevents that. */
export function exitCodeOfIdentity({
  state,
  user_code: code,
  problem,
  problem_state: cause,
}: IdentityStatus): ExitCode {
  if (state === "enrolled") return EXIT.ok;
  if (state !== "waiting-for-approval" || code !== null || problem === null) return STATES[state].exit;
  return cause === null ? EXIT.failed : STATES[cause].exit;
}

/** What a person has to do about a status; null when there is nothing to do. */
export function statusProblem(status: StatusDocument): Problem | null {
  const { problem } = STATES[status.state];
  if (problem !== null) return problem(status);
  if (status.hanging === null) return null;
  return {
    code: "disk-hangs",
    what: "the disk or network drive does not answer; changes are not noticed",
    where: status.hanging,
    fix: "check the drive; the agent goes on by itself once it answers",
  };
}

/** The summary for display above the findings: without the place and text of the first finding. */
export function summaryAboveFindings({ summary, findings }: Pick<StatusDocument, "summary" | "findings">): string {
  const error = findings.find(isError);
  const repeated = error === undefined ? "" : `: ${placeOf(error)}`;
  return repeated !== "" && summary.endsWith(repeated) ? summary.slice(0, -repeated.length) : summary;
}

function placeOf({ file, line, column, message }: LocatedFinding): string {
  return `${file}:${line}:${column}: ${message}`;
}

function identityFacts({ identity }: StateFacts): Pick<StateFacts, "detail"> {
  return { detail: identity?.problem ?? null };
}

function atIdentity(status: StatusDocument, code: string, fix: string): Problem {
  const what = status.identity?.problem ?? status.summary;
  return { code, what, where: status.service.url ?? "the service", fix };
}

function because({ detail }: Pick<StateFacts, "detail">): string {
  return detail === null ? "" : `: ${detail}`;
}

function detailOf({ failure, summary }: StatusDocument): string {
  return failure?.detail ?? summary;
}

function atService(status: StatusDocument, code: string, fix: string): Problem {
  return { code, what: detailOf(status), where: status.service.url ?? "the service", fix };
}
