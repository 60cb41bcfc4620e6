import type { EnrolmentStart } from "../../api/enrolments.ts";
import { type Credential, type CredentialProblem, loadCredential } from "../../client/credential.ts";
import type { Started } from "../../client/identity-client.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Log } from "../../platform/log/log.ts";
import { atHome, judgePoll, type Later, later, type Refused } from "./answers.ts";
import { approvableText, type EnrolmentRequest, givenByApproval, nameWithoutCredential } from "./approval.ts";
import type { HeldCredential } from "./credential.ts";
import type { IdentityService, IdentitySettings, MachineOptions } from "./exchange.ts";
import { belonging, type EnrolmentRecord, type KeyRecord, type RobotBefore } from "./identity-files.ts";
import { createKey, signPoll } from "./key.ts";

/** Maximum delay of the next poll, whatever Retry-After says: a code expires after ten minutes. */
const LONGEST_POLL_DELAY_MS = 30_000;

/** What came of a key, a start or a poll. */
export type Progress =
  /** There is a code, which `isNew` or still waits. */
  | { readonly kind: "waiting"; readonly pollInMs: number; readonly isNew: boolean }
  /** The code is worth nothing any more, and another one is needed. */
  | { readonly kind: "over" }
  | Later
  | Refused
  /** The service issued a credential. */
  | { readonly kind: "approved" };

/** From nothing to a credential: the key of this computer, and the enrolment that waits for an operator. */
export function createEnrolment({ machine, log, files, stored }: MachineOptions, held: HeldCredential) {
  const { clock, random } = machine;
  let key: KeyRecord | null = stored.key;
  let enrolment: EnrolmentRecord | null = belonging(stored.enrolment, key);
  /** False where the service said that no operator has to approve. */
  let isApprovalNeeded = true;

  /** The robot of this computer at a service, also when its credential ended. */
  function robotBefore(serviceUrl: string): RobotBefore | null {
    if (key !== null && key.service_url !== serviceUrl) return null;
    // Without a key, the power was cut between moving it away and writing the next one.
    const known = key === null ? stored.credential : (held.record ?? key.before ?? null);
    return known === null ? null : { robot_name: known.robot_name, configured_name: known.configured_name };
  }

  /** Makes a key in place of the one there is. @returns why it cannot be written; null when it is. */
  async function makeKey(serviceUrl: string): Promise<Later | null> {
    const before = robotBefore(serviceUrl);
    const made = createKey(random, serviceUrl, await machine.identity.machine(), clock.wallMs(), before);
    try {
      await files.saveKey(made);
    } catch (error) {
      return atHome(`the key of this robot cannot be written (${codeOf(error)})`);
    }
    key = made;
    enrolment = null;
    held.forget();
    log.info("identity-key-made", { fingerprint: keyFingerprint(made.public_key) });
    return null;
  }

  async function start(
    body: EnrolmentStart,
    { client, settings }: IdentityService,
    signal: AbortSignal,
  ): Promise<Progress> {
    const bulk = await readEnrolmentKey(settings, machine.files);
    if (bulk?.kind === "credential-problem") return { ...atHome(`${bulk.where}: ${bulk.what}`), state: "unauthorized" };
    const result = await client.start(body, bulk?.secret ?? null, signal);
    signal.throwIfAborted();
    if (result.kind === "ok") return take(result.value, body);
    if (result.kind === "refused" && result.reason === "key_in_use") {
      // An installation has the key, and its credential is not here. The pause keeps a service that refuses every key from being asked without end.
      const detail = "the service knew the key of this robot already, so the robot made a new one";
      return (await makeKey(settings.connection.serviceUrl)) ?? atHome(detail);
    }
    const verdict = later(result);
    if (bulk === null || verdict.state !== "unauthorized") return verdict;
    return { ...verdict, detail: `${verdict.detail} (the key for enrolments in ${bulk.where})` };
  }

  async function take(started: Started, body: EnrolmentStart): Promise<Progress> {
    const { approval_required: isRequired, reason, poll_token: token, ...shown } = started;
    const waiting = {
      ...shown,
      public_key: body.public_key,
      poll_token: token.reveal(),
      said: approvableText(body),
      waits_because: becauseOf(reason, body.requested_name),
    };
    await show(waiting, isRequired);
    return { kind: "waiting", pollInMs: isRequired ? shown.interval_s * 1000 : 0, isNew: true };
  }

  /** Writes it before anybody sees the code: without the file a restarted agent starts anew, and an approval would be lost. */
  async function show(waiting: EnrolmentRecord, isRequired: boolean): Promise<void> {
    await files.saveEnrolment(waiting).catch(codeOf);
    enrolment = waiting;
    isApprovalNeeded = isRequired;
    if (!isRequired) return;
    const { public_key: publicKey, user_code: code, expires_at: expiresAt, waits_because: because = null } = waiting;
    const fields = { code, fingerprint: keyFingerprint(publicKey), expires_at: expiresAt };
    log.warn("enrolment-waits", because === null ? fields : { ...fields, because });
  }

  async function poll(
    current: KeyRecord,
    waiting: EnrolmentRecord,
    robot: EnrolmentRequest,
    { client, settings }: IdentityService,
    signal: AbortSignal,
  ): Promise<Progress> {
    const result = await client.poll(signPoll(current, waiting), signal);
    signal.throwIfAborted();
    if (result.kind !== "ok") {
      const verdict = judgePoll(result);
      if (verdict.kind === "over") return forget();
      return { ...verdict, retryAfterMs: Math.min(verdict.retryAfterMs ?? 0, LONGEST_POLL_DELAY_MS) };
    }
    const polled = result.value;
    switch (polled.status) {
      case "pending":
        if (!isApprovalNeeded) {
          const name = nameWithoutCredential(current.before ?? null, robot.requested_name);
          await show({ ...waiting, waits_because: becauseOf(polled.reason, name) }, true);
        }
        return { kind: "waiting", pollInMs: (polled.retry_after_s ?? waiting.interval_s) * 1000, isNew: false };
      case "approved":
        await held.take(current.public_key, polled, {
          robot_id: polled.robot.id,
          robot_name: polled.robot.name,
          configured_name: robot.requested_name,
          ...givenByApproval(polled.robot, robot),
        });
        return { kind: "approved" };
      case "denied":
        await forget();
        return { kind: "refused", state: "unenrolled", detail: "the enrolment of this robot was denied" };
      case "expired":
        return forget();
      case "consumed":
        // The credential was used, but is not here: a state directory that was set back.
        return (await makeKey(settings.connection.serviceUrl)) ?? forget();
    }
  }

  async function forget(): Promise<Progress> {
    if (enrolment !== null) await files.forgetEnrolment().catch(codeOf);
    enrolment = null;
    return { kind: "over" };
  }

  return {
    get key() {
      return key;
    },
    /** The enrolment that an operator has to approve. */
    get waiting() {
      return isApprovalNeeded ? enrolment : null;
    },
    /** Does what is due: a key, a start or a poll. @param robot what this computer says of its robot now. */
    async advance(service: IdentityService, robot: EnrolmentRequest, signal: AbortSignal): Promise<Progress> {
      const failed = key === null ? await makeKey(service.settings.connection.serviceUrl) : null;
      if (failed !== null || key === null) return failed ?? { kind: "over" };
      const name = nameWithoutCredential(key.before ?? null, robot.requested_name);
      const body = { ...robot, requested_name: name, public_key: key.public_key };
      // An approval of what the robot no longer says could put it in the place of another robot.
      if (enrolment !== null && (enrolment.said ?? approvableText(body)) !== approvableText(body)) {
        log.info("enrolment-outdated", { code: enrolment.user_code });
        await forget();
      }
      return enrolment === null ? start(body, service, signal) : poll(key, enrolment, robot, service, signal);
    },
    /** Makes a key in place of the one there is, for another service or for a person. @returns as `makeKey`. */
    async beginAnew(serviceUrl: string): Promise<Later | null> {
      const failed = await makeKey(serviceUrl);
      if (failed === null) await files.forgetEnrolment().catch(codeOf);
      return failed;
    },
    forget,
  };
}

function becauseOf(reason: string | null | undefined, name: string): string | null {
  if (reason !== "name_exists") return null;
  return `a robot named ${name} exists already: a person decides whether this computer takes its place; for another robot change robot.name`;
}

/** The key for enrolment without an operator; null where there is none, and an operator approves. */
async function readEnrolmentKey(
  { configuration, connection }: IdentitySettings,
  files: Files,
): Promise<Credential | CredentialProblem | null> {
  const { enrolment_key_file: path } = configuration.service;
  if (path === null) return null;
  const found = await loadCredential({ keyFile: path, serviceUserId: connection.userId }, files);
  // Removed after an earlier enrolment.
  return found.kind === "credential-problem" && found.code === "key-missing" ? null : found;
}

/** The robot is enrolled: no key of the organization stays on it. */
export async function discardEnrolmentKey(path: string | null, files: Files, log: Log): Promise<void> {
  if (path === null) return;
  try {
    // First, because unlink(2) of a missing file fails with EROFS on a read-only file system.
    await files.linkStat(path);
    await files.remove(path);
    log.info("enrolment-key-removed", { path });
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT") log.warn("enrolment-key-not-removed", { path, code });
  }
}

/** The code of a Node system error. @throws any other error, which is a bug. */
function codeOf(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}
