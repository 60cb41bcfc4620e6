import { type ApiKeyCreate, type ApiKeyRotate, ENROLLMENT_DAYS, ROTATION_OVERLAP_S } from "../../api/keys.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import type { KeyEnrolment } from "../identity/index.ts";
import { type KeyViewRow, lockKeyShared } from "../kernel/auth/key-queries.ts";
import { depthOf, LINEAGE_DEPTH_MAXIMUM } from "../kernel/auth/lineage.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { printJson } from "../kernel/json/json.ts";
import { listHandler } from "../kernel/lists/answer-list.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { API_KEYS_MAXIMUM, listKeys } from "./queries.ts";
import { rotateKey } from "./rotate.ts";
import { addKey, createdView, earliest, keyView, makeKey, revokeKey } from "./rules.ts";

/** `POST /v1/me/api-keys`: the only answer that contains the key itself. */
export function createOrganizationKey({ newId, machine }: OperationContext): Handler<ApiKeyCreate> {
  return async (call) => {
    const { principal, body } = call;
    const at = isoNow(machine.clock);
    const refused = refuseNewKey(principal, body, at);
    if (refused !== null) return refused;
    const { organizationId, keyId: createdBy } = principal;
    const { label, scopes = null, expires_at: expiresAt = null } = body;
    const maximum = API_KEYS_MAXIMUM[principal.scopes === null ? "unrestricted" : "restricted"];
    const enrolment = enrolmentOf(body);
    const newKey = { organization_id: organizationId, label, scopes, expires_at: expiresAt, enrolment };
    const { key, row } = makeKey(newKey, newId("key"), at, machine.random);
    const author = authorship(call, newId, at);
    const made = await call.write(async (transaction) => {
      const parent = await lockKeyShared(transaction, organizationId, createdBy);
      if (parent === undefined) throw new Error(`The credential goes back to ${createdBy}, which is not there`);
      if ((await depthOf(transaction, organizationId, parent.id)) >= LINEAGE_DEPTH_MAXIMUM) return TOO_DEEP;
      const end = earliest(expiresAt, parent.expires_at);
      const added = { ...row, expires_at: end, parent_id: parent.id, created_by: createdBy };
      if (await addKey(transaction, added, author, maximum)) return added;
      return refuseTooMany(maximum);
    });
    if (isAnswer(made)) return made;
    logChange(machine, "api_key_created", author, { key_id: row.id });
    return answerValue(createdView(made, key));
  };
}

function refuseTooMany(maximum: number): Answer {
  return refuse("Conflict", `The organization has ${maximum} API keys; revoke those it does not need`);
}

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

/** A key that lets robots in without a person is not kept for years. */
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
