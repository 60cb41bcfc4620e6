import type { Credential } from "../../client/credential.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT } from "../../platform/terminal.ts";
import { type KeyLook, lookAtKey } from "../access/check-access.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import { belonging, createIdentityFiles, unreadableIdentity } from "../identity/identity-files.ts";
import { isOtherMachine } from "../registration/state-file.ts";
import { approvalFix, enrolmentFix, IDENTITY_UNREADABLE_FIX, REFUSED_FIX } from "../remedies.ts";
import { STATES } from "../states.ts";
import type { IdentityStatus } from "../status.ts";
import { combine, fail, type Found, ok, skip, type Subject, type Verdict, warn } from "./check.ts";

/** What there is to authenticate with. */
export interface KeyFacts {
  readonly credential: Credential | null;
  /** What is left to do for a robot that has no credential of its own yet, but is to get one; null for another. */
  readonly enrolment: { readonly what: string; readonly remedy: string } | null;
}

/**
 * Checks the robot's own credential, or its API key.
 *
 * @param identity what the running agent says; null when none runs, or it has none.
 */
export async function checkKey(
  { context, folders, agentUser }: Subject,
  configuration: AgentConfiguration,
  identity: IdentityStatus | null,
): Promise<Found<KeyFacts>> {
  const own = identity === null ? await judgeIdentity(context, folders, configuration.service) : judgeRunning(identity);
  const found = await lookAtKey(context, folders, configuration.service, agentUser);
  const isOpen = own?.status === "warn" || own?.status === "fail";
  if (found.kind === "credential") {
    const isOwn = found.source === "enrolment";
    const there = ok(`${isOwn ? "the robot's own credential" : "found"} in ${found.where}, with a valid format`);
    const verdict = own === null || !(isOwn || isOpen) ? there : own;
    return { verdict, value: { credential: found, enrolment: null } };
  }
  const enrolment = own?.status === "warn" ? { what: own.what, remedy: own.remedy } : null;
  return { verdict: judgeMissing(found, own, context.userId), value: { credential: null, enrolment } };
}

function judgeMissing(
  found: Exclude<KeyLook, { readonly kind: "credential" }>,
  own: Verdict | null,
  userId: number,
): Verdict {
  if (found.kind === "closed") return own ?? skip(`user ${userId} may not read ${found.where}, which is correct`);
  const problem = fail(EXIT.unauthorized, `${found.what} (${found.where})`, found.fix);
  if (own === null) return problem;
  // A robot that is to get a credential of its own needs no key until then.
  return found.code === "not-enrolled" || found.code === "key-missing" ? own : combine([problem, own]);
}

/** The robot's own credential as it is on the disk; null for a robot that uses an API key. */
export async function judgeIdentity(
  { machine, userId }: Pick<CommandContext, "machine" | "userId">,
  { stateDirectory }: Pick<Folders, "stateDirectory">,
  service: AgentConfiguration["service"],
): Promise<Verdict | null> {
  try {
    const { key, enrolment, credential, setAside } = await createIdentityFiles(machine.files, stateDirectory).load(
      false,
    );
    const [torn] = setAside;
    if (torn !== undefined)
      return warn(`${torn} cannot be used; the agent sets it aside`, "start the agent; it enrolls this robot again");
    if (key === null && service.identity !== "enrolled") return null;
    if (key !== null && isOtherMachine(key, await machine.identity.machine()))
      return warn(
        "of another computer, as in a copied image; it is not used",
        "enroll this one: robot-policy-agent enroll",
      );
    const isElsewhere = key !== null && key.service_url !== service.url;
    const own = belonging(credential, key);
    if (own !== null && isElsewhere)
      return warn(
        `${own.robot_name} is enrolled at ${key.service_url}, not at this service`,
        "correct service.url; or enroll it here: sudo robot-policy-agent enroll",
      );
    if (own !== null) return ok(`${own.robot_name}, credential until ${own.credential_expires_at}`);
    const waiting = belonging(enrolment, key);
    if (waiting !== null && !isElsewhere)
      return waitsFor(waiting.user_code, keyFingerprint(waiting.public_key), waiting.waits_because ?? null);
    return warn("this robot is not enrolled yet", "enroll it: sudo robot-policy-agent enroll");
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code !== "EACCES") return fail(EXIT.failed, unreadableIdentity(error), IDENTITY_UNREADABLE_FIX);
    return skip(`cannot be read by user ${userId} (${code}), which is correct`);
  }
}

function judgeRunning(identity: IdentityStatus): Verdict {
  const { state, problem, user_code: code, key_fingerprint: fingerprint } = identity;
  switch (state) {
    case "enrolled": {
      const seen = identity.last_heartbeat_at ?? "not since the agent started";
      const what = `${identity.robot?.name ?? ""}, credential until ${identity.credential_expires_at ?? ""}, last heartbeat ${seen}`;
      return problem === null ? ok(what) : warn(`${what}; ${problem}`, "the agent tries again by itself");
    }
    case "waiting-for-approval":
      if (code === null)
        return warn(problem ?? "no code yet", enrolmentFix(identity, "the agent asks for one by itself"));
      return waitsFor(code, fingerprint ?? "", identity.waits_because ?? null);
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
