import type { Credential } from "../../client/credential.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import { lookAtKey } from "../access/check-access.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { readOwnIdentity, unreadableIdentity } from "../identity/identity-files.ts";
import { approvalFix, enrolmentFix, IDENTITY_UNREADABLE_FIX, REFUSED_FIX } from "../remedies.ts";
import { STATES } from "../states.ts";
import type { IdentityStatus } from "../status.ts";
import { combine, fail, type Found, ok, skip, type Subject, type Verdict, warn } from "./check.ts";

/** What there is to authenticate with. */
export interface KeyFacts {
  readonly credential: Credential | null;
  /** What is left to do for a robot that has no credential of its own yet, but is to get one; null for another. */
  readonly enrolment: Verdict | null;
}

/**
 * Checks the robot's own credential, or its API key.
 *
 * @param identity what the running agent says; null when none runs, or it has none.
 */
export async function checkKey(
  subject: Subject,
  { service }: AgentConfiguration,
  identity: IdentityStatus | null,
): Promise<Found<KeyFacts>> {
  const { context, folders, agentUser } = subject;
  const own = identity === null ? await judgeStored(subject, service) : judgeRunning(identity);
  const found = await lookAtKey(context, folders, service, agentUser);
  if (found.kind === "credential") {
    const isOwn = found.source === "enrolment";
    const isOpen = own?.status === "warn" || own?.status === "fail";
    const there = ok(`${isOwn ? "the robot's own credential" : "found"} in ${found.where}, with a valid format`);
    const verdict = own === null || !(isOwn || isOpen) ? there : own;
    return { ...verdict, value: { credential: found, enrolment: null } };
  }
  const value = { credential: null, enrolment: own?.status === "warn" ? own : null };
  if (found.kind === "closed")
    return { ...(own ?? skip(`user ${context.userId} may not read ${found.where}, which is correct`)), value };
  const problem = fail(EXIT.unauthorized, `${found.what} (${found.where})`, found.fix);
  if (own === null) return { ...problem, value };
  // A robot that is to get a credential of its own needs no key until then.
  const isExpected = found.code === "not-enrolled" || found.code === "key-missing";
  return { ...(isExpected ? own : combine([problem, own])), value };
}

/** The robot's own credential as it is on the disk; null for a robot that uses an API key. */
async function judgeStored(
  { context: { machine, userId }, folders: { stateDirectory } }: Subject,
  { url, identity }: AgentConfiguration["service"],
): Promise<Verdict | null> {
  try {
    const here = await machine.identity.machine();
    const { credential, enrolment } = await readOwnIdentity(machine.files, stateDirectory, url, here);
    if (credential !== null)
      return ok(`${credential.robot_name}, credential until ${credential.credential_expires_at}`);
    if (enrolment !== null)
      return waitsFor(enrolment.user_code, keyFingerprint(enrolment.public_key), enrolment.waits_because ?? null);
    if (identity !== "enrolled") return null;
    return warn("this robot is not enrolled yet", "enroll it: sudo robot-policy-agent enroll");
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code !== "EACCES") return fail(EXIT.failed, unreadableIdentity(error), IDENTITY_UNREADABLE_FIX);
    return skip(`cannot be read by user ${userId} (${code}), which is correct`);
  }
}

function judgeRunning(identity: IdentityStatus): Verdict {
  const { state, problem, user_code: code } = identity;
  switch (state) {
    case "enrolled": {
      const seen = identity.last_heartbeat_at ?? "not since the agent started";
      const what = `${identity.robot?.name ?? ""}, credential until ${identity.credential_expires_at ?? ""}, last heartbeat ${seen}`;
      return problem === null ? ok(what) : warn(`${what}; ${problem}`, "the agent tries again by itself");
    }
    case "waiting-for-approval":
      if (code === null)
        return warn(problem ?? "no code yet", enrolmentFix(identity, "the agent asks for one by itself"));
      return waitsFor(code, identity.key_fingerprint ?? "", identity.waits_because);
    case "unenrolled":
    case "frozen":
    case "lapsed": {
      const what = STATES[state].summary({ robotName: "", findings: [], detail: null, identity });
      return fail(EXIT.unauthorized, what, REFUSED_FIX[state]);
    }
    case "identity-unreadable":
      return fail(EXIT.failed, problem ?? "cannot be read", IDENTITY_UNREADABLE_FIX);
  }
}

function waitsFor(code: string, fingerprint: string, because: string | null): Verdict {
  const what = `waits for approval of the code ${code}, key ${fingerprint}`;
  return warn(because === null ? what : `${what}: ${because}`, approvalFix(code));
}
