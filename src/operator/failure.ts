import type { ValidationError } from "../api/wire/errors.ts";
import type { CallResult, Unreachable } from "../client/call-result.ts";
import { looksLikeClock, isUnknownIssuer } from "../client/transport/transport.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../platform/terminal.ts";
import { type Places, valueAt } from "./body.ts";
import type { ChosenCredential } from "./logins/choose-service.ts";
import { refuse, refuseUnknown } from "./refuse.ts";

export type Failure = Exclude<CallResult<unknown>, { kind: "ok" }>;
type Refusal = Extract<Failure, { kind: "refused" }>;

/** The request and what the command knows about its failures, so that a refusal can be reported in terms of the operator's flags and files. */
export interface Sent {
  readonly body?: unknown;
  readonly places?: Places;
  /** The operator wrote the request: what an unknown path means is not the command's to say. */
  readonly isRaw?: true;
  /** What to do where nothing has the name or id. */
  readonly unknownFix?: string;
  /** For an operation that every service has, whose 404 is always about what the request names: says that there is none. */
  readonly unknown?: string;
}

interface Reporting extends Sent {
  /** Whether the command has sent anything but reads. */
  readonly hasSentChange: boolean;
  readonly credential: ChosenCredential;
  /** What the command does, as its help has it. */
  readonly summary: string;
  readonly terminal: Terminal;
}

/** Reports a failed call. @returns its exit code. */
export function showFailure(failure: Failure, reporting: Reporting): ExitCode {
  const { terminal, summary } = reporting;
  if (reporting.isRaw !== true && isUnknownOperation(failure)) {
    const { unknown, unknownFix = CHECK } = reporting;
    return unknown === undefined ? refuseNotOffered(summary, terminal) : refuseUnknown(unknown, unknownFix, terminal);
  }
  switch (failure.kind) {
    case "no-credential":
      return refuse(failure.problem, EXIT.unauthorized, terminal);
    case "unreachable": {
      const { reason, detail: what } = failure;
      const fix = unreachableFix(failure, reporting.hasSentChange);
      return refuse({ code: `service-${reason}`, what, fix }, EXIT.unreachable, terminal);
    }
    case "undecodable": {
      const { isJson, detail: what } = failure;
      if (isJson !== true) {
        const fix = "check --url; a captive portal may have answered";
        return refuse({ code: "not-the-service", what, fix }, EXIT.unreachable, terminal);
      }
      const fix = "robot-policy api GET PATH shows the answer as it is";
      return refuse({ code: "unknown-answer", what, fix }, EXIT.unreachable, terminal);
    }
    case "refused":
      return showRefusal(failure, reporting);
  }
}

/** Reports that the service lacks what the command needs. @param summary what it does, of which the first clause is said. */
export function refuseNotOffered(summary: string, terminal: Terminal): ExitCode {
  const what = `this service does not offer to ${summary.split(/[,;:]/, 1)[0]}`;
  const fix = "robot-policy --help lists other commands; a newer service may offer it";
  return refuse({ code: "not-offered", what, fix }, EXIT.rejected, terminal);
}

/** The JSON of an answer that this program cannot read further, as of a service with other members; undefined for any other failure. */
export function documentOfFailure(failure: Failure): unknown {
  return failure.kind === "undecodable" ? failure.document : undefined;
}

/**
 * Whether the service lacks the operation, as a service with only the documented operations does: 405, or the 404 of a web framework. A 404
 * for an unknown id has a message of its own.
 */
export function isUnknownOperation(failure: Failure): boolean {
  if (failure.kind !== "refused") return false;
  const { status, detail } = failure;
  if (status === 405 || status === 501) return true;
  return status === 404 && (detail === "Not Found" || detail.startsWith("status 404 with"));
}

/** Whether the service has the operation, and nothing with this name or id. */
export function isNothingNamed(failure: Failure): boolean {
  return failure.kind === "refused" && failure.status === 404 && !isUnknownOperation(failure);
}

/** What to do about conflicts of robot identities, by the reason that the service gives. */
const CONFLICT_FIXES: ReadonlyMap<string, string> = new Map([
  ["robot_online", "make sure that its computer is to be replaced, then repeat the command with --replace ROBOT"],
  ["already_approved", "robot-policy robots deny CODE ends it, unless the computer has its credential already"],
]);

/** Whether a wait goes on after this failure, because it may be temporary. */
export function isTemporary(failure: Failure): boolean {
  if (failure.kind === "refused") return failure.status === 429 || failure.status >= 500;
  return failure.kind === "unreachable" || failure.kind === "undecodable";
}

/** Why a call failed, for the middle of a sentence. */
export function failureText(failure: Failure): string {
  return failure.kind === "no-credential" ? failure.problem.what : failure.detail;
}

function showRefusal(refusal: Refusal, reporting: Reporting): ExitCode {
  const { status, detail } = refusal;
  const report = (exitCode: ExitCode, code: string, what: string, fix: string) =>
    refuse({ code, what, fix }, exitCode, reporting.terminal);
  const { name, another } = reporting.credential;
  switch (status) {
    case 401:
      return report(EXIT.unauthorized, "unauthorized", `${detail}: the service does not accept ${name}`, another);
    case 403: {
      const what = `${detail}; the request was sent with ${name}`;
      return report(EXIT.unauthorized, "forbidden", what, `use a credential that may do this: ${another}`);
    }
    case 409: {
      const fix = CONFLICT_FIXES.get(refusal.reason ?? "");
      if (fix === undefined)
        return report(EXIT.conflict, "conflict", detail, "check what exists already, and correct the request");
      return report(EXIT.conflict, (refusal.reason ?? "").replaceAll("_", "-"), detail, fix);
    }
    case 422:
      for (const problem of describeValidation(refusal, reporting)) reporting.terminal.problem(problem);
      return EXIT.rejected;
    case 429:
      return report(EXIT.rejected, "http-429", detail, waitFix(refusal.retryAfterMs));
  }
  if (isUnknownOperation(refusal)) {
    const fix = "check --url; not every service has this operation";
    return report(EXIT.rejected, `http-${status}`, `the service does not know this operation (${status})`, fix);
  }
  if (status === 404) {
    return refuseUnknown(detail, reporting.unknownFix ?? CHECK, reporting.terminal);
  }
  if (status < 500) return report(EXIT.rejected, `http-${status}`, detail, "correct what the service reports");
  const request = refusal.request_id === null ? "" : ` and request ${refusal.request_id}`;
  const fix = `try again later; if it persists, tell the administrator of the service the time${request}`;
  return report(EXIT.unreachable, `http-${status}`, detail, fix);
}

/** One problem per finding: the operator's flag or file position, its value, and the rule. */
function describeValidation({ validation, detail }: Refusal, sent: Sent): readonly Problem[] {
  if (validation === null || validation.length === 0) return [{ code: "http-422", what: detail, fix: CORRECT }];
  return validation.map((finding) => ({
    code: finding.type,
    what: describeFinding(finding, sent),
    fix: remedyOf(finding),
  }));
}

const CORRECT = "correct it and try again";
const CHECK = "check the names and ids that you gave";
/** The command that lists the valid names for a member of a body. */
const LISTS: ReadonlyMap<string | number | undefined, string> = new Map([
  ["model", "models list"],
  ["subject", "models list"],
  ["robot", "robots list"],
  ["robots", "robots list"],
  ["selector", "robots list"],
]);

/** For an unknown name, the command that lists names. For other findings the service's own message is enough. */
function remedyOf({ loc, msg }: ValidationError): string {
  const list = LISTS.get(loc.findLast((element) => typeof element === "string"));
  const isUnknown = /\bno (?:such|robot|model)\b/i.test(msg);
  return list !== undefined && isUnknown ? `robot-policy ${list} shows valid names` : CORRECT;
}

function describeFinding({ loc, msg }: ValidationError, { places, body }: Sent): string {
  const place =
    places?.(loc) ?? loc.slice(loc[0] === "body" || loc[0] === "query" || loc[0] === "path" ? 1 : 0).join(".");
  // pydantic's prefix for messages of custom validators.
  const sentence = msg.replace(/^Value error, /, "");
  const value = loc[0] === "body" ? valueAt(body, loc) : null;
  return `${[place, value].filter((part) => part !== null && part !== "").join(" ")}: ${sentence}`.replace(/^: /, "");
}

function waitFix(retryAfterMs: number | null): string {
  if (retryAfterMs === null) return "wait; there were too many requests";
  return `wait ${Math.ceil(retryAfterMs / 1000)} s; there were too many requests`;
}

const NOT_CONNECTED: ReadonlySet<string | null> = new Set(["CONNECT_TIMEOUT", "ETIMEDOUT"]);

function unreachableFix({ reason, code }: Unreachable, hasSentChange: boolean): string {
  if (isUnknownIssuer(code)) return "if a private authority issued it, give its certificate: --ca-file FILE";
  if (code?.startsWith("CA_FILE_") === true) return "correct --ca-file";
  if (looksLikeClock(code))
    return "check the clock of this machine; if it is right, the service needs a new certificate";
  if (reason === "proxy") return "correct HTTPS_PROXY or HTTP_PROXY, or name the service in NO_PROXY";
  // The service may have received the request.
  const isOpen = reason === "reset" || (reason === "timeout" && !NOT_CONNECTED.has(code));
  if (!isOpen) return "check the address and the network";
  return hasSentChange
    ? "check the network; a change may have been applied, so check before you try again"
    : "check the network, and try again";
}
