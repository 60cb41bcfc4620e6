import type { Renewal } from "../../api/installations.ts";
import { renewalText } from "../../api/wire/signed-texts.ts";
import { isoTime } from "../../platform/clock.ts";
import { isSignedBy, readPublicKey } from "../../platform/ed25519.ts";
import { hashSecret } from "../kernel/auth/token.ts";
import { type Answer, answerValue, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import type { OpenHandler } from "../kernel/operation.ts";
import { audit, type AuditEntry, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { type Draft, draftCredential, judgeRotation, rotate, type Rotation, termsOf } from "./credentials.ts";
import {
  expiryOf,
  findLiveByKey,
  type IdentitySettings,
  type InstallationRow,
  lockInstallation,
  updateInstallation,
} from "./installations.ts";
import { freeze, FROZEN, type InstallationContext, logCopied } from "./robot-credentials.ts";

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

/** What a renewal came to. `isCopied`: it showed that two computers hold the key. */
type Outcome =
  | { readonly state: "refused"; readonly answer: Answer; readonly isCopied?: true }
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
    if (outcome.state === "cannot-recover") {
      if (auditedMs.size >= AUDITED_MAXIMUM) auditedMs.clear();
      if (auditsRefusal) auditedMs.set(id, nowMs);
      return CANNOT_RECOVER[outcome.why];
    }
    if (outcome.isCopied === true) logCopied(context, found, address);
    if (outcome.state === "refused") return outcome.answer;
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
  if (installation === undefined || installation.state === "revoked") return refused(PROOF_INVALID);
  if (installation.state === "frozen") return refused(FROZEN_ANSWER);
  const { id } = installation;
  const judged = await judgeRotation(transaction, installation, presentedSha256);
  const isCopied = judged === "freeze";
  if (isCopied && identity.copiedKey === "freeze") {
    await freeze(context, transaction, installation, address, author);
    return { state: "refused", answer: FROZEN_ANSWER, isCopied };
  }
  const nonces = await readNonces(transaction, id, nonceSha256, isoTime(Date.parse(at) - HOUR_MS));
  if (nonces.used > 0) return refused(NONCE_USED);
  const recovery = judgeRecovery(installation, at, identity);
  if (recovery.state !== "allowed") {
    if (auditsRefusal) await auditRobot("installation.recovery_refused", { why: recovery.state });
    return { state: "cannot-recover", why: recovery.state };
  }
  if (nonces.lately >= RENEWALS_PER_HOUR) return refused(TOO_OFTEN);

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

function refused(answer: Answer): Outcome {
  return { state: "refused", answer };
}

/** Whether the installation may renew at `now` (ISO 8601), and how many recoveries it has then. */
export type Recovery =
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
