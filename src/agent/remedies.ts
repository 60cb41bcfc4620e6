/** What a person does about a state, where the sentence is long or said in several places. */
import { shellWord } from "../platform/text/shell-word.ts";
import type { IdentityStatus, StatusDocument } from "./status.ts";

export const OTHER_MACHINE_FIX =
  "to register this machine as a new robot: robot-policy-agent rebind; after a new main board in the same robot: robot-policy-agent rebind --same-robot";
export const OTHER_NAME_FIX =
  "set robot.name (or the hostname) back, or register a new robot: robot-policy-agent rebind";

export const IDENTITY_UNREADABLE_FIX =
  "look at the disk, and at the files identity-*.json of the state directory; a running agent goes on by itself once it can read them";

/** Who may approve, and how. */
export function approvalFix(code: string): string {
  return `somebody who may change robots (scope robots:write) approves it in the console, or with: robot-policy robots approve ${code}`;
}

export const FIND_CAUSE = "find the cause with: robot-policy-agent doctor";

/** For a robot that is not enrolled, by what keeps it from a code. @param unreached where the service gave no answer. */
export function enrolmentFix(
  { user_code: code, problem_state: cause }: Pick<IdentityStatus, "user_code" | "problem_state">,
  unreached = FIND_CAUSE,
): string {
  if (code !== null) return approvalFix(code);
  switch (cause) {
    case null:
    case "unreachable":
      return unreached;
    case "unauthorized":
      return "put a valid key there (robot-policy keys create --enroll); or take service.enrolment_key_file out of the configuration, and an operator approves a code";
    case "misconfigured":
      return "check service.url in the configuration";
    case "rejected":
    case "conflict":
      return "correct what the service names; the agent asks again by itself";
  }
}

/** For an identity that the service does not accept. */
export const REFUSED_FIX = {
  unenrolled: "to enroll it again: sudo robot-policy-agent enroll",
  frozen:
    "if this is the right computer, enroll it again: sudo robot-policy-agent enroll; after a false alarm an operator thaws it, and the agent goes on by itself",
  lapsed:
    "an operator allows more recoveries, and the agent goes on by itself; or enroll it again: sudo robot-policy-agent enroll",
} as const;

/** For a state directory that cannot be changed. */
export function stateFix(code: string | undefined, directory: string): string {
  return code === "EACCES" || code === "EPERM" ? "run it as root" : `look at the disk: df -h ${shellWord(directory)}`;
}

/** For a key or a credential that the service does not accept. */
export function credentialFix({ failure, identity }: Pick<StatusDocument, "failure" | "identity">): string {
  if (identity?.state === "enrolled") return "if it continues, enroll this robot again: sudo robot-policy-agent enroll";
  const code = identity?.user_code ?? null;
  if (code !== null) return `${approvalFix(code)}; then, unless the agent runs: sudo robot-policy-agent enroll`;
  if (failure?.reason === "no-credential")
    return "enroll this robot: sudo robot-policy-agent enroll; or store an API key: sudo robot-policy-agent set-key";
  if (failure?.reason === "not-enrolled") return "once it is enrolled: sudo robot-policy-agent --setup";
  // A key file that is not as it must be: the failure says how to correct it.
  if (failure?.reason.startsWith("key-") === true)
    return "the running agent notices the correction by itself; at once: sudo robot-policy-agent --setup";
  const key = failure?.reason === "http-403" ? "a key that may register robots (scope robots:setup)" : "a valid key";
  return `ask whoever runs the service for ${key}, then: sudo robot-policy-agent set-key`;
}

/** A service that answers 5xx is reachable; only its operator can fix it. 511 is an answer of the network (RFC 6585). */
export function unreachableFix(reason = ""): string {
  return reason.startsWith("http-5") && reason !== "http-511"
    ? "wait, the running agent retries by itself; if it continues, tell the operator of the service"
    : FIND_CAUSE;
}
