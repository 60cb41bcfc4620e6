/** The credentials of robots at the gate: whose one is, whether it is good, and what its use shows. */
import { sql } from "kysely";

import { ROBOT_SCOPE } from "../../api/wire/scopes.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import type { CredentialRefusal } from "../kernel/auth/authenticate.ts";
import { hashSecret, isToken, ROBOT_TOKEN_PREFIX } from "../kernel/auth/token.ts";
import type { RobotCredentials } from "../kernel/http/gate.ts";
import type { OperationContext, OpenHandler } from "../kernel/operation.ts";
import { audit, type AuditEntry, type Authorship } from "../kernel/store/audit.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { announce } from "../webhooks/index.ts";
import { type Draft, draftCredential, judgeRotation, markUsed, rotate, type Rotation, termsOf } from "./credentials.ts";
import { consumeEnrolment } from "./enrolments.ts";
import type { Liveness } from "./presence.ts";
import {
  expiryOf,
  findLiveByKey,
  type IdentitySettings,
  type InstallationRow,
  lockInstallation,
  updateInstallation,
} from "./installations.ts";
import type { Renewal } from "../../api/installations.ts";
import { renewalText } from "../../api/wire/signed-texts.ts";
import { isSignedBy, readPublicKey } from "../../platform/ed25519.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";

export interface InstallationContext extends Pick<OperationContext, "store" | "newId" | "machine"> {
  readonly liveness: Pick<Liveness, "note" | "seen" | "revision">;
  readonly identity: IdentitySettings;
}

export function createRobotCredentials(context: InstallationContext): RobotCredentials {
  const { store, newId, machine, identity } = context;
  return {
    async authenticate(token) {
      const [found] = isToken(ROBOT_TOKEN_PREFIX, token)
        ? await selectByHash(store.lookup, { hash: hashSecret(token) })
        : [];
      if (found === undefined) {
        return { state: "unauthorized", detail: UNKNOWN.detail, owner: null, robot: UNKNOWN };
      }
      const { organization_id: organizationId, installation_id: credentialId, robot_name: name } = found;
      const owner = { organizationId, credentialId };
      const refusal = credentialRefusal(found, isoNow(machine.clock));
      if (refusal !== null) return { state: "unauthorized", detail: refusal.detail, owner, robot: refusal };
      const principal = {
        ...owner,
        credential: "robot",
        keyId: credentialId,
        scopes: [ROBOT_SCOPE],
        expiresAt: found.expires_at,
        robot: { id: found.robot_id, name, credential: found },
      } as const;
      return { state: "authenticated", principal };
    },
    async firstUsed({ token_sha256: tokenSha256, installation_id: id }) {
      const at = isoNow(machine.clock);
      await store.write(async (transaction) => {
        if (await markUsed(transaction, tokenSha256, id, at)) await consumeEnrolment(transaction, id);
      });
    },
    async copyReported({ organizationId, credentialId: id }, address) {
      const at = isoNow(machine.clock);
      const author = { auditId: newId("aud"), at, organizationId, actor: id, requestId: null };
      const copied = await store.write(async (transaction) => {
        const installation = await lockInstallation(transaction, organizationId, id);
        if (installation?.state !== "active") return { state: installation?.state, found: null };
        if (identity.copiedKey === "warn") return { state: "active", found: installation };
        await freeze(context, transaction, installation, address, author);
        return { state: "frozen", found: installation };
      });
      if (copied.found !== null) logCopied(context, copied.found, address);
      return copied.state === "frozen" ? FROZEN : SUPERSEDED;
    },
  };
}

const selectByHash = prepare<{ readonly hash: string }, RobotCredentialRow>((database, parameter) =>
  database
    .selectFrom("robot_credentials as credential")
    .innerJoin("installations as installation", "installation.id", "credential.installation_id")
    .innerJoin("robots as robot", "robot.id", "installation.robot_id")
    .select([
      "credential.token_sha256",
      "credential.organization_id",
      "credential.installation_id",
      "credential.generation",
      "credential.standing",
      "credential.expires_at",
      "credential.renew_at",
      "credential.grace_until",
      "credential.used_at",
      "installation.robot_id",
      "installation.state",
      "robot.name as robot_name",
      sql<number | boolean>`credential.displaced_by is not null and exists (
        select 1 from robot_credentials as newer
        where newer.installation_id = credential.installation_id
        and newer.generation >= credential.displaced_by and newer.used_at is not null)`.as("is_copied"),
    ])
    .where("credential.token_sha256", "=", parameter("hash")),
);

/** A robot's credential with what its use depends on. */
type RobotCredentialRow = Omit<Tables["robot_credentials"], "issued_at" | "displaced_by"> & {
  readonly robot_id: string;
  readonly robot_name: string;
  readonly state: InstallationRow["state"];
  /** Whether a value that displaced this one was used: two computers hold the key. PostgreSQL answers with a boolean, SQLite with a number. */
  readonly is_copied: number | boolean;
};

/** Why a credential cannot be used at `now` (ISO 8601); null if it can. */
function credentialRefusal(credential: RobotCredentialRow, now: string): CredentialRefusal | null {
  const { state, standing, expires_at: expiresAt, grace_until: graceUntil, is_copied: isCopied } = credential;
  if (state === "revoked") return REVOKED;
  if (state === "frozen") return FROZEN;
  if (standing === "displaced" && Boolean(isCopied)) return { ...SUPERSEDED, isCopied: true };
  if (expiresAt <= now) return EXPIRED;
  const isGood = standing === "newest" || (standing === "previous" && graceUntil !== null && graceUntil > now);
  return isGood ? null : SUPERSEDED;
}

const UNKNOWN: CredentialRefusal = {
  code: "Unauthorized",
  reason: "credential_unknown",
  detail: "The service does not know this credential; renew it, or enroll the robot again",
};

/** Also the answer to a renewal. Names the causes of a false alarm. */
const FROZEN: CredentialRefusal = {
  code: "Forbidden",
  reason: "installation_frozen",
  detail:
    "The key of this robot is in use on two computers, so the service stopped both: enroll the right one again with a new key. If there is only one computer (two agents started on it, or its disk was set back and then forward), an operator can thaw the robot",
};

const REVOKED: CredentialRefusal = {
  code: "Unauthorized",
  reason: "installation_revoked",
  detail: "The robot was removed, or another computer took its place; enroll this computer again",
};

const EXPIRED: CredentialRefusal = {
  code: "Unauthorized",
  reason: "credential_expired",
  detail: "The credential of this robot has expired; renew it",
};

const SUPERSEDED: CredentialRefusal = {
  code: "Unauthorized",
  reason: "credential_superseded",
  detail: "A newer credential was issued to this robot; use that one, or renew",
};

/** Stops an installation whose key two computers hold. Call `logCopied` once that is committed. */
export async function freeze(
  { liveness, newId }: Pick<InstallationContext, "liveness" | "newId">,
  transaction: Transaction,
  installation: InstallationRow,
  address: string,
  author: Authorship,
): Promise<void> {
  const { id, organization_id: organizationId, robot_id: robotId } = installation;
  await updateInstallation(transaction, id, { state: "frozen" });
  const addresses = { installation_id: id, address, other_address: lastAddress(liveness, installation) };
  await audit(transaction, author, { action: "installation.freeze", subjectId: robotId, details: addresses });
  const data = async () => {
    const robot = transaction.selectFrom("robots").select("name").where("id", "=", robotId);
    const { name } = await robot.executeTakeFirstOrThrow();
    return { robot_id: robotId, name, ...addresses };
  };
  await announce(transaction, { newId }, { organizationId, type: "robot.frozen", at: author.at, data });
}

/** Logs that two computers hold the key of an installation, with both their addresses. */
function logCopied(
  { machine, identity, liveness }: Pick<InstallationContext, "machine" | "identity" | "liveness">,
  installation: InstallationRow,
  address: string,
): void {
  machine.log.warn(identity.copiedKey === "freeze" ? "installation_frozen" : "installation_copied", {
    robot_id: installation.robot_id,
    installation_id: installation.id,
    address,
    other_address: lastAddress(liveness, installation),
  });
}

function lastAddress(liveness: InstallationContext["liveness"], installation: InstallationRow): string | null {
  return liveness.seen(installation.id, installation.last_seen_at)?.address ?? installation.last_address;
}

const HOUR_MS = 60 * 60 * 1000;
/** Accepted renewals of an installation within an hour; clients renew at every start. */
const RENEWALS_PER_HOUR = 60;
/** How often a refused recovery is written to the audit log: its computer asks again every half minute. */
const AUDIT_AGAIN_MS = 24 * HOUR_MS;
const AUDITED_MAXIMUM = 10_000;

const PROOF_INVALID = refuse(
  "Unauthorized",
  "No robot has this key, or the signature is wrong; enroll the robot again",
  { "www-authenticate": "Bearer" },
  "proof_invalid",
);
const NONCE_USED = refuse("Conflict", "The nonce was used before; sign a new one", {}, "nonce_used");
const TOO_OFTEN = refuse("RateLimited", `The credential was renewed ${RENEWALS_PER_HOUR} times within an hour`, {
  "retry-after": "600",
});
const FROZEN_ANSWER = refuse(FROZEN.code, FROZEN.detail, {}, FROZEN.reason);
const CANNOT_RECOVER = {
  "window-over": refuse(
    "Forbidden",
    "The credential expired too long ago; an operator can allow the robot to recover, or enroll it again",
    {},
    "recovery_window_over",
  ),
  "budget-spent": refuse(
    "Forbidden",
    "The credential expired and was renewed late too often; an operator can allow the robot to recover, or enroll it again",
    {},
    "recovery_budget_spent",
  ),
};

/** What a renewal came to, or the answer to one that changed nothing. `isCopied`: it showed that two computers hold the key. */
type Outcome =
  | Answer
  | { readonly state: "frozen" }
  | { readonly state: "cannot-recover"; readonly why: keyof typeof CANNOT_RECOVER }
  | {
      readonly state: "renewed";
      readonly rotation: Exclude<Rotation, "freeze">;
      readonly generation: number;
      readonly recovery: Extract<Recovery, { readonly state: "allowed" }>;
      readonly isCopied: boolean;
    };

/** `POST /v1/robot-agent/credential/renew`: the signature is the proof; the bearer tells which value the computer holds. */
export function renewCredential(context: InstallationContext): OpenHandler<Renewal> {
  const { store, newId, machine, identity } = context;
  /** When a refused recovery was last written to the audit log, by installation. */
  const auditedMs = new Map<string, number>();
  return async ({ body, bearer, address, requestId }) => {
    const publicKey = readPublicKey(body.public_key);
    if (publicKey === null) return refuseInvalid([INVALID_KEY]);
    const found = await findLiveByKey(store.lookup, publicKey);
    if (found === undefined) return PROOF_INVALID;
    const { id, organization_id: organizationId, robot_id: robotId } = found;
    if (!isSignedBy(publicKey, renewalText(id, body.nonce), body.signature)) return PROOF_INVALID;
    if (found.state === "frozen") return FROZEN_ANSWER;
    const draft = draftCredential(machine, identity);
    const nowMs = machine.clock.monotonicMs();
    const auditsRefusal = nowMs - (auditedMs.get(id) ?? Number.NEGATIVE_INFINITY) >= AUDIT_AGAIN_MS;
    const outcome = await store.write((transaction) =>
      renew(context, transaction, {
        found,
        nonceSha256: hashSecret(body.nonce),
        presentedSha256: bearer === null ? null : hashSecret(bearer),
        draft,
        author: { auditId: newId("aud"), at: draft.issued_at, organizationId, actor: id, requestId },
        address,
        auditsRefusal,
      }),
    );
    if (isAnswer(outcome)) return outcome;
    if (outcome.state === "cannot-recover") {
      if (auditedMs.size >= AUDITED_MAXIMUM) auditedMs.clear();
      if (auditsRefusal) auditedMs.set(id, nowMs);
      return CANNOT_RECOVER[outcome.why];
    }
    if (outcome.state === "frozen" || outcome.isCopied) logCopied(context, found, address);
    if (outcome.state === "frozen") return FROZEN_ANSWER;
    const { rotation, generation, recovery } = outcome;
    if (rotation === "displace") {
      machine.log.warn("credential_renewed_out_of_order", { robot_id: robotId, installation_id: id, address });
    }
    return answerValue({
      ...termsOf(draft, { robotId, installationId: id, generation }, Date.parse(draft.issued_at)),
      installation_token: draft.token,
      recovered: recovery.isRecovered,
      recoveries_remaining: recovery.remaining,
    });
  };
}

const INVALID_KEY = {
  ...ruleBroken("public_key must be the 32 bytes of an Ed25519 key in base64url"),
  loc: ["body", "public_key"],
  // Never shown: somebody may send a private key by mistake.
  input: null,
};

interface Request {
  readonly found: InstallationRow;
  readonly nonceSha256: string;
  /** Hash of the bearer; null without one. */
  readonly presentedSha256: string | null;
  readonly draft: Draft;
  readonly author: Authorship;
  readonly address: string;
  /** Whether a refused recovery is written to the audit log. */
  readonly auditsRefusal: boolean;
}

/** The checks in the order of the wire, then the rotation, in one transaction. */
async function renew(
  context: InstallationContext,
  transaction: Transaction,
  { found, nonceSha256, presentedSha256, draft, author, address, auditsRefusal }: Request,
): Promise<Outcome> {
  const { identity } = context;
  const { at } = author;
  const installation = await lockInstallation(transaction, found.organization_id, found.id);
  if (installation === undefined || installation.state === "revoked") return PROOF_INVALID;
  if (installation.state === "frozen") return FROZEN_ANSWER;
  const { id } = installation;
  const judged = await judgeRotation(transaction, installation, presentedSha256);
  const isCopied = judged === "freeze";
  if (isCopied && identity.copiedKey === "freeze") {
    await freeze(context, transaction, installation, address, author);
    return { state: "frozen" };
  }
  const nonces = await readNonces(transaction, id, nonceSha256, isoTime(Date.parse(at) - HOUR_MS));
  if (nonces.used > 0) return NONCE_USED;
  const recovery = judgeRecovery(installation, at, identity);
  if (recovery.state !== "allowed") {
    if (auditsRefusal) await auditRobot("installation.recovery_refused", { why: recovery.state });
    return { state: "cannot-recover", why: recovery.state };
  }
  if (nonces.lately >= RENEWALS_PER_HOUR) return TOO_OFTEN;

  const nonce = { installation_id: id, nonce_sha256: nonceSha256, used_at: at };
  await transaction.insertInto("renewal_nonces").values(nonce).execute();
  const rotation = judged === "freeze" ? "displace" : judged;
  const graceUntil = isoTime(Date.parse(at) + identity.graceMs);
  const generation = await rotate(transaction, rotation, { installation, presentedSha256, draft, graceUntil });
  await updateInstallation(transaction, id, {
    generation,
    recoveries_remaining: recovery.remaining,
    ...expiryOf(draft, identity),
  });
  if (rotation === "displace") await auditRobot("installation.renew_out_of_order", { address });
  else if (recovery.isRecovered) await auditRobot("installation.recover", { address, remaining: recovery.remaining });
  return { state: "renewed", rotation, generation, recovery, isCopied };

  function auditRobot(action: AuditEntry["action"], details: AuditEntry["details"]): Promise<void> {
    const entry = { action, subjectId: found.robot_id, details: { installation_id: id, ...details } };
    return audit(transaction, author, entry);
  }
}

/** How often this nonce was accepted, and how many were after `since` (ISO 8601). */
function readNonces(transaction: Transaction, installationId: string, nonceSha256: string, since: string) {
  return transaction
    .selectFrom("renewal_nonces")
    .select(({ fn }) => [
      fn.countAll<number>().filterWhere("nonce_sha256", "=", nonceSha256).as("used"),
      fn.countAll<number>().filterWhere("used_at", ">", since).as("lately"),
    ])
    .where("installation_id", "=", installationId)
    .executeTakeFirstOrThrow();
}

/** Whether the installation may renew at `now` (ISO 8601), and how many recoveries it has then. */
type Recovery =
  | { readonly state: "allowed"; readonly isRecovered: boolean; readonly remaining: number }
  | { readonly state: "window-over" | "budget-spent" };

/** A renewal in time restores the recoveries, one after the expiry takes one. An operator may have given more than the standard. */
export function judgeRecovery(
  {
    credential_expires_at: expiresAt,
    recoveries_remaining: remaining,
    recovery_until: until,
  }: Pick<InstallationRow, "credential_expires_at" | "recoveries_remaining" | "recovery_until">,
  now: string,
  { recoveries }: Pick<IdentitySettings, "recoveries">,
): Recovery {
  if (now < expiresAt) return { state: "allowed", isRecovered: false, remaining: Math.max(remaining, recoveries) };
  if (now > until) return { state: "window-over" };
  return remaining > 0 ? { state: "allowed", isRecovered: true, remaining: remaining - 1 } : { state: "budget-spent" };
}
