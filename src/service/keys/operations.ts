import { type ApiKeyCreate, type ApiKeyRotate, ENROLLMENT_DAYS, ROTATION_OVERLAP_S } from "../../api/keys.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { type Principal, readScopes } from "../kernel/auth/authenticate.ts";
import type { KeyEnrolment } from "../identity/index.ts";
import { type KeyViewRow, lockKey, lockKeyShared } from "../kernel/auth/key-queries.ts";
import { depthOf, LINEAGE_DEPTH_MAXIMUM, lineageOf } from "../kernel/auth/lineage.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { printJson } from "../kernel/json/json.ts";
import { listHandler } from "../kernel/lists/answer-list.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import {
  addKey,
  API_KEYS_MAXIMUM,
  countKeys,
  createdView,
  earliest,
  insertKey,
  isWithin,
  keyView,
  listKeys,
  makeKey,
  revokeKey,
} from "./keys.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** `POST /v1/me/api-keys`: the only answer that contains the key itself. */
export function createOrganizationKey({ newId, machine }: OperationContext): Handler<ApiKeyCreate> {
  return async (call) => {
    const { principal, body } = call;
    const at = isoNow(machine.clock);
    const refused = refuseNewKey(principal, body, at);
    if (refused !== null) return refused;
    const { organizationId, keyId: createdBy } = principal;
    const { label, scopes = null, expires_at: expiresAt = null } = body;
    const enrolment = enrolmentOf(body);
    const newKey = { organization_id: organizationId, label, scopes, expires_at: expiresAt, enrolment };
    const { key, row } = makeKey(newKey, newId("key"), at, machine.random);
    const author = authorship(call, newId, at);
    const made = await call.write(async (transaction) => {
      const parent = await lockKeyShared(transaction, organizationId, createdBy);
      if (parent === undefined) throw new Error(`The credential goes back to ${createdBy}, which is not there`);
      if ((await depthOf(transaction, organizationId, parent.id)) >= LINEAGE_DEPTH_MAXIMUM) return TOO_DEEP;
      if ((await countKeys(transaction, organizationId)) >= API_KEYS_MAXIMUM) return TOO_MANY;
      const end = earliest(expiresAt, parent.expires_at);
      const added = { ...row, expires_at: end, parent_id: parent.id, created_by: createdBy };
      await addKey(transaction, added, author);
      return added;
    });
    if (isAnswer(made)) return made;
    logChange(machine, "api_key_created", author, { key_id: row.id });
    return answerValue(createdView(made, key));
  };
}

const TOO_MANY = refuse("Conflict", `The organization has ${API_KEYS_MAXIMUM} API keys; revoke those it does not need`);

const TOO_DEEP = refuse(
  "Conflict",
  `Keys made with each other are ${LINEAGE_DEPTH_MAXIMUM} at most, one after the other`,
);

/** `GET /v1/me/api-keys`: every key of the organization, revoked ones too, oldest first. */
export function listOrganizationKeys(context: OperationContext): Handler<null, PageQuery> {
  // A key that was just used is not shown as never used until that is written.
  const viewOf = (row: KeyViewRow) => {
    const noted = context.lastUsed.notedAt(row.id);
    const isNewer = noted !== null && (row.last_used_at === null || row.last_used_at < noted);
    return keyView(isNewer ? { ...row, last_used_at: noted } : row);
  };
  return listHandler("key", listKeys, viewOf)(context);
}

/** `DELETE /v1/me/api-keys/{key_id}`: effective from the next request on, on every replica. A key may revoke itself. */
export function revokeOrganizationKey({ newId, machine }: OperationContext): Handler<null> {
  return async (call) => {
    const { organizationId, scopes } = call.principal;
    const id = call.path["key_id"] ?? "";
    const author = authorship(call, newId, isoNow(machine.clock));
    const revoked = await call.write((transaction) => revokeKey(transaction, organizationId, id, scopes, author));
    if (isAnswer(revoked)) return revoked;
    const { key, changed, keysEnded, isLockedOut } = revoked;
    if (changed) logChange(machine, "api_key_revoked", author, { key_id: key.id, keys_ended: keysEnded });
    if (isLockedOut) {
      const fix = "make one on this computer: robot-policy-service keys create";
      machine.log.warn("no_unrestricted_api_key_left", { organization_id: organizationId, fix });
    }
    return answerValue(keyView(key));
  };
}

/** `POST /v1/me/api-keys/{key_id}/rotate`: what was made with the former key depends on the new one. */
export function rotateOrganizationKey({ newId, machine }: OperationContext): Handler<ApiKeyRotate> {
  return async (call) => {
    const { principal, body } = call;
    const nowMs = machine.clock.wallMs();
    const author = authorship(call, newId, isoTime(nowMs));
    const until = isoTime(nowMs + (body.overlap_s ?? ROTATION_OVERLAP_S.usual) * SECOND_MS);
    const made = makeKey(
      { organization_id: principal.organizationId, label: "", scopes: null, expires_at: null },
      newId("key"),
      author.at,
      machine.random,
    );
    const rotation = { formerId: call.path["key_id"] ?? "", made: made.row, until };
    const rotated = await call.write((transaction) => rotateKey(transaction, principal, rotation, author));
    if (isAnswer(rotated)) return rotated;
    const { row, formerExpiresAt } = rotated;
    logChange(machine, "api_key_rotated", author, { key_id: row.id, former_key_id: rotation.formerId });
    const former = { former_key_id: rotation.formerId, former_expires_at: formerExpiresAt };
    return answerValue({ ...createdView(row, made.key), ...former });
  };
}

function enrolmentOf({ enrollment }: ApiKeyCreate): KeyEnrolment | null {
  if (enrollment === null || enrollment === undefined) return null;
  const { uses, site = null, region = null, labels } = enrollment;
  const cleaned = (region ?? "").trim().toLowerCase();
  return { uses, site, region: cleaned === "" ? null : cleaned, labels: printJson(labels ?? {}) };
}

/** A key for enrolments has to end: with it robots enroll without an approval. */
function refuseEnrollmentExpiry(
  { enrollment, expires_at: expiresAt = null }: ApiKeyCreate,
  now: string,
): Answer | null {
  if (enrollment === null || enrollment === undefined) return null;
  const latest = isoTime(Date.parse(now) + ENROLLMENT_DAYS.maximum * DAY_MS);
  if (expiresAt !== null && expiresAt <= latest) return null;
  const fault = ruleBroken(`a key for enrolments expires within ${ENROLLMENT_DAYS.maximum} days`);
  return refuseInvalid([{ ...fault, loc: ["body", "expires_at"], input: expiresAt }]);
}

const SECOND_MS = 1000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;

/** Checks the expiry of the new key, and that a restricted credential grants only its own scopes. */
function refuseNewKey({ scopes: own }: Principal, body: ApiKeyCreate, now: string): Answer | null {
  const { expires_at: expiresAt, scopes = null } = body;
  if (typeof expiresAt === "string" && expiresAt <= now) {
    const finding = { ...ruleBroken("the time is past"), loc: ["body", "expires_at"], input: expiresAt };
    return refuseInvalid([finding]);
  }
  const lastsTooLong = refuseEnrollmentExpiry(body, now);
  if (lastsTooLong !== null) return lastsTooLong;
  if (own === null) return null;
  const lacking = scopes === null ? "everything" : scopes.find((scope) => !own.includes(scope));
  return lacking === undefined ? null : refuseScope(lacking);
}

function refuseScope(scope: ApiKeyScope | "everything"): Answer {
  const detail =
    scope === "everything"
      ? "The API key is restricted, so it cannot make one that may do everything: name the scopes"
      : `The API key lacks the scope ${scope}, so it cannot give it to another`;
  return refuse("Forbidden", detail);
}

interface Rotation {
  readonly formerId: string;
  /** The new key, which takes label, scopes, parent and expiry of the former one. */
  readonly made: Tables["api_keys"];
  /** When the former key ends, unless it ends before (ISO 8601). */
  readonly until: string;
}

interface Rotated {
  readonly row: Tables["api_keys"];
  readonly formerExpiresAt: string;
}

/**
 * Replaces a key by a new one, on which the keys and sessions depend that were made with the former one. The new key outlives a revocation of
 * whoever rotates unless it ends with their own, so only a credential that may do everything for ever rotates keys of others.
 */
export async function rotateKey(
  transaction: Transaction,
  { organizationId, keyId, scopes }: Principal,
  { formerId, made, until }: Rotation,
  author: Authorship,
): Promise<Rotated | Answer> {
  const former = await lockKey(transaction, organizationId, formerId);
  if (former === undefined) return refuse("NotFound", "API key not found");
  const own = await lockKeyShared(transaction, organizationId, keyId);
  const isUnbounded = scopes === null && own?.expires_at === null;
  const isOwn = isUnbounded || (await lineageOf(transaction, organizationId, keyId)).includes(formerId);
  if (!isOwn || !isWithin(readScopes(former.scopes), scopes)) {
    return refuse(
      "Forbidden",
      "The API key may rotate only itself and keys that end with it, and none that may do more",
    );
  }
  if (former.revoked_at !== null || (former.expires_at !== null && former.expires_at <= author.at)) {
    return refuse("Conflict", "The API key has ended; create another one");
  }
  if (former.enrolment !== null) {
    return refuse("Conflict", "A key for enrolments is not rotated; create another one");
  }
  if ((await countKeys(transaction, organizationId)) >= API_KEYS_MAXIMUM) return TOO_MANY;
  const { label, parent_id: parentId, expires_at: expiresAt } = former;
  const formerExpiresAt = earliest(until, expiresAt) ?? until;
  const lineage = { label, scopes: former.scopes, expires_at: expiresAt, parent_id: parentId, created_by: keyId };
  const row = { ...made, ...lineage };
  await insertKey(transaction, row);
  const dependent = transaction.updateTable("api_keys").set({ parent_id: row.id });
  await dependent.where("organization_id", "=", organizationId).where("parent_id", "=", formerId).execute();
  await transaction.updateTable("sessions").set({ created_by: row.id }).where("created_by", "=", formerId).execute();
  await transaction.updateTable("api_keys").set({ expires_at: formerExpiresAt }).where("id", "=", formerId).execute();
  const details = { label, former_key_id: formerId, former_expires_at: formerExpiresAt };
  await audit(transaction, author, { action: "api_key.rotate", subjectId: row.id, details });
  return { row, formerExpiresAt };
}
