/** The properties of one state of the agent. A new state is one more row in `STATES`. */
import type { ExitCode, Problem } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";
import type { LocatedFinding } from "./findings.ts";
import type { AgentState, IdentityStatus, StatusDocument } from "./status.ts";

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
}

export const STATES: Readonly<Record<AgentState, StateRow>> = {
  starting: { exit: EXIT.ok, level: null, showsFailure: false, summary: () => "Starting", problem: null },
  settling: {
    exit: EXIT.ok,
    level: null,
    showsFailure: false,
    summary: () => "Waiting for writes to configuration files to finish",
    problem: null,
  },
  registering: {
    exit: EXIT.ok,
    level: null,
    showsFailure: true,
    summary: ({ robotName }) => `Registering ${robotName}`,
    problem: null,
  },
  registered: {
    exit: EXIT.ok,
    level: "info",
    showsFailure: false,
    summary: ({ robotName, findings }) => {
      const error = findings.find(({ severity }) => severity === "error");
      return error === undefined
        ? `Registered as ${robotName}`
        : `Registered as ${robotName}, but an edit is invalid: ${placeOf(error)}`;
    },
    problem: null,
  },
  "rate-capped": {
    exit: EXIT.ok,
    level: "info",
    showsFailure: false,
    summary: () => "Files change often; the next registration is delayed",
    problem: null,
  },
  unreachable: {
    exit: EXIT.unreachable,
    level: "warn",
    showsFailure: true,
    summary: (facts) => `Service unreachable, retrying${because(facts)}`,
    problem: (status) => atService(status, "service-unreachable", unreachableFix(status.failure?.reason)),
  },
  unauthorized: {
    exit: EXIT.unauthorized,
    level: "warn",
    showsFailure: true,
    summary: (facts) => `Key not accepted${because(facts)}`,
    problem: (status) => {
      const key =
        status.failure?.reason === "http-403" ? "a key that may register robots (scope robots:setup)" : "a valid key";
      const fix = `ask whoever runs the service for ${key}, then: sudo robot-policy-agent set-key`;
      if (status.identity?.state === "enrolled")
        return atService(
          status,
          "unauthorized",
          "if it continues, enrol this robot again: sudo robot-policy-agent enroll",
        );
      return atService(status, "unauthorized", fix);
    },
  },
  rejected: {
    exit: EXIT.rejected,
    level: "warn",
    showsFailure: true,
    summary: (facts) => `Registration refused by the service${because(facts)}`,
    problem: (status) =>
      atService(status, "rejected", "correct the findings; the agent registers again when an input changes"),
  },
  misconfigured: {
    exit: EXIT.rejected,
    level: "warn",
    showsFailure: true,
    summary: (facts) => `Not a robot policy service? Check service.url${because(facts)}`,
    problem: (status) => ({
      ...atService(status, "misconfigured", "check service.url in the configuration"),
      what: `this does not look like a robot policy service: ${detailOf(status)}`,
    }),
  },
  conflict: {
    exit: EXIT.conflict,
    level: "warn",
    showsFailure: true,
    summary: (facts) => `The service reports a conflict${because(facts)}`,
    problem: (status) =>
      atService(
        status,
        "conflict",
        "another robot may have this name; choose another robot.name, or remove the other robot",
      ),
  },
  invalid: {
    exit: EXIT.invalid,
    level: "warn",
    showsFailure: false,
    summary: ({ findings }) => {
      const error = findings.find(({ severity }) => severity === "error");
      return error === undefined ? "Nothing valid to register" : `Not registering: ${placeOf(error)}`;
    },
    problem: ({ registration }) => ({
      code: "invalid",
      what:
        registration === null
          ? "nothing is registered while an input is invalid"
          : "nothing is registered while an input is invalid; the last registration stays",
      fix: "correct the findings above, then: robot-policy-agent check",
    }),
  },
  draft: {
    exit: EXIT.invalid,
    level: "info",
    showsFailure: false,
    summary: () => "The manifest is a draft; set status: ready to register",
    problem: () => ({
      code: "draft",
      what: "the manifest is a draft, and drafts are not registered",
      fix: "set status: ready in the manifest",
    }),
  },
  "other-machine": {
    exit: EXIT.conflict,
    level: "warn",
    showsFailure: false,
    summary: () => "The state belongs to another machine (a copied image?); run: robot-policy-agent rebind",
    problem: () => ({
      code: "other-machine",
      what: "the state was written on another machine, as in a copied image; nothing was sent",
      fix: OTHER_MACHINE_FIX,
    }),
  },
  "other-name": {
    exit: EXIT.conflict,
    level: "warn",
    showsFailure: false,
    summary: ({ robotName }) =>
      `Registered under another name than ${robotName}; set the name back, or for a new robot run: robot-policy-agent rebind`,
    problem: ({ robot }) => ({
      code: "other-name",
      what: `this robot is registered as ${robot.view?.name ?? "another name"}, but its name is now ${robot.name}; nothing was sent`,
      fix: OTHER_NAME_FIX,
    }),
  },
  "waiting-for-approval": {
    exit: EXIT.unauthorized,
    level: "warn",
    showsFailure: false,
    summary: ({ identity }) => {
      const { user_code: code = null, key_fingerprint: fingerprint = null, problem = null } = identity ?? {};
      if (code !== null) return `Waiting for approval of the code ${code}, key ${fingerprint ?? "unknown"}`;
      return problem === null ? "Asking the service to enrol this robot" : `Not enrolled yet, retrying: ${problem}`;
    },
    problem: (status) => atIdentity(status, "waiting-for-approval", approvalFix(status.identity?.user_code ?? null)),
  },
  unenrolled: {
    exit: EXIT.unauthorized,
    level: "warn",
    showsFailure: false,
    summary: (facts) => `The service does not accept this robot's credential any more${because(identityFacts(facts))}`,
    problem: (status) => atIdentity(status, "unenrolled", "to enrol it again: sudo robot-policy-agent enroll"),
  },
  frozen: {
    exit: EXIT.unauthorized,
    level: "warn",
    showsFailure: false,
    summary: (facts) =>
      `Frozen by the service: two computers used this robot's credential${because(identityFacts(facts))}`,
    problem: (status) =>
      atIdentity(
        status,
        "frozen",
        "if this is the right computer, enrol it again: sudo robot-policy-agent enroll; after a false alarm an operator thaws it, and the agent goes on by itself",
      ),
  },
  lapsed: {
    exit: EXIT.unauthorized,
    level: "warn",
    showsFailure: false,
    summary: (facts) => `The credential lapsed and may not be renewed${because(identityFacts(facts))}`,
    problem: (status) =>
      atIdentity(
        status,
        "lapsed",
        "an operator allows more recoveries, and the agent goes on by itself; or enrol it again: sudo robot-policy-agent enroll",
      ),
  },
  stopped: {
    exit: EXIT.failed,
    level: "info",
    showsFailure: false,
    summary: () => "The agent is not running",
    problem: () => ({
      code: "not-running",
      what: "the agent is not running; changes are not noticed",
      fix: "start it: robot-policy-agent run, or systemctl start robot-policy-agent where it is a service",
    }),
  },
};

/** The remedies for a state of another machine, and for a name that differs from the registered one. */
export const OTHER_MACHINE_FIX =
  "to register this machine as a new robot: robot-policy-agent rebind; after a new main board in the same robot: robot-policy-agent rebind --same-robot";
export const OTHER_NAME_FIX =
  "set robot.name (or the hostname) back, or register a new robot: robot-policy-agent rebind";

/** The exit code for a status, for `status` and for one-shot commands. */
export function exitCodeOf({ state, healthy }: Pick<StatusDocument, "state" | "healthy">): ExitCode {
  // Registered but not healthy: the disk has an invalid edit, and the last valid configuration is in force.
  return state === "registered" && !healthy ? EXIT.invalid : STATES[state].exit;
}

/** What a person has to do about a status; null when there is nothing to do. */
export function statusProblem(status: StatusDocument): Problem | null {
  return STATES[status.state].problem?.(status) ?? null;
}

/** The summary for display above the findings: without the place and text of the first finding. */
export function summaryAboveFindings({ summary, findings }: Pick<StatusDocument, "summary" | "findings">): string {
  const error = findings.find(({ severity }) => severity === "error");
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

/** Who may approve, and how. */
export function approvalFix(code: string | null): string {
  return code === null
    ? "find the cause with: robot-policy-agent doctor"
    : `somebody who may change robots (scope robots:write) approves it in the console, or with: robot-policy robots approve ${code}`;
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

/** A service that answers 5xx is reachable; only its operator can fix it. */
function unreachableFix(reason = ""): string {
  return reason.startsWith("http-5")
    ? "wait, the running agent retries by itself; if it continues, tell the operator of the service"
    : "find the cause with: robot-policy-agent doctor";
}
