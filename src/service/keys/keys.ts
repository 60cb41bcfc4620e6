import type { ApiKeyView } from "../../api/keys.ts";
import { API_KEY_SCOPES, type ApiKeyScope, type Scope } from "../../api/wire/scopes.ts";
import type { Random } from "../../platform/random.ts";
import { API_KEY_PREFIX, createToken, hashSecret } from "../kernel/auth/token.ts";
import { readScopes } from "../kernel/auth/authenticate.ts";
import { type KeyViewRow, lockKey, selectKeys } from "../kernel/auth/key-queries.ts";
import { endSessionsOf } from "../kernel/auth/session-queries.ts";
import { type Answer, refuse } from "../kernel/http/answers.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { denyEnrolmentsOf, type KeyEnrolment, readKeyEnrolment } from "../identity/index.ts";
import { denyLoginsOf } from "../logins/index.ts";
import { readLabels } from "../robots/index.ts";
import { workingCredentials, worksAt } from "../kernel/auth/credentials.ts";
import { chunksOf, lineageOf } from "../kernel/auth/lineage.ts";
import { inRange, type PageRange } from "../kernel/lists/pages.ts";

/** The requested properties of a new key. */
export interface NewKey {
  readonly organization_id: string;
  readonly label: string;
  /** Null for an unrestricted key. */
  readonly scopes: readonly ApiKeyScope[] | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  readonly expires_at: string | null;
  /** None if omitted. */
  readonly enrolment?: KeyEnrolment | null;
}

/** A key, which is shown once, and its row in the store. */
interface MadeKey {
  readonly key: string;
  readonly row: Tables["api_keys"];
}

/** A key created by the service's own command line. For a key created with another key, the caller sets its lineage. */
export function makeKey(newKey: NewKey, id: string, createdAt: string, random: Random): MadeKey {
  const key = createToken(API_KEY_PREFIX, random);
  return { key, row: keyRow(key, newKey, id, createdAt) };
}

/** The row of `key` in the store. */
export function keyRow(key: string, newKey: NewKey, id: string, createdAt: string): Tables["api_keys"] {
  const { label, scopes, enrolment = null } = newKey;
  return {
    id,
    organization_id: newKey.organization_id,
    label,
    key_sha256: hashSecret(key),
    key_prefix: API_KEY_PREFIX,
    key_last4: key.slice(-4),
    // Sorted and without duplicates.
    scopes: scopes === null ? null : JSON.stringify(API_KEY_SCOPES.filter((scope) => scopes.includes(scope))),
    created_at: createdAt,
    last_used_at: null,
    expires_at: newKey.expires_at,
    revoked_at: null,
    created_by: "command",
    parent_id: null,
    enrolment: enrolment === null ? null : JSON.stringify(enrolment),
  };
}

/** Adds a key with its entry in the audit log. */
export async function addKey(transaction: Transaction, row: Tables["api_keys"], author: Authorship): Promise<void> {
  await insertKey(transaction, row);
  const { label, scopes, expires_at: expiresAt, parent_id: parentId } = row;
  const { uses } = readKeyEnrolment(row.enrolment) ?? {};
  await audit(transaction, author, {
    action: "api_key.create",
    subjectId: row.id,
    details: {
      label,
      scopes,
      expires_at: expiresAt,
      parent_id: parentId,
      ...(uses === undefined ? {} : { uses }),
    },
  });
}

/** The earlier end; null is never. */
export function earliest(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}

interface Revocation {
  readonly key: KeyViewRow;
  /** False if the key was revoked before. */
  readonly changed: boolean;
  /** Dependent keys that ended. */
  readonly keysEnded: number;
  /** The organization has no unrestricted key left; only the service's own command line can create one. */
  readonly isLockedOut: boolean;
}

/**
 * Revokes a key and the keys that depend on it, ends their sessions, and denies the logins and enrolments that they approved.
 *
 * @param scopes of the credential that revokes: a restricted one may not revoke a key with other scopes.
 */
export async function revokeKey(
  transaction: Transaction,
  organizationId: string,
  id: string,
  scopes: readonly Scope[] | null,
  author: Authorship,
): Promise<Revocation | Answer> {
  const key = await lockKey(transaction, organizationId, id);
  if (key === undefined) return refuse("NotFound", "API key not found");
  if (!isWithin(readScopes(key.scopes), scopes)) {
    return refuse("Forbidden", "The API key may not revoke one that may do more than itself");
  }
  if (key.revoked_at !== null) return { key, changed: false, keysEnded: 0, isLockedOut: false };
  const { at } = author;
  const { lineage, othersEnded: keysEnded } = await markKeysRevoked(transaction, organizationId, id, at);
  await denyLoginsOf(transaction, lineage);
  await denyEnrolmentsOf(transaction, lineage);
  const sessionsEnded = await endSessionsOf(transaction, organizationId, lineage, at);
  await audit(transaction, author, {
    action: "api_key.revoke",
    subjectId: id,
    details: { label: key.label, keys_ended: keysEnded, sessions_ended: sessionsEnded },
  });
  const isLockedOut = key.scopes === null && !(await hasUnrestrictedKey(transaction, organizationId, at));
  return { key: { ...key, revoked_at: at }, changed: true, keysEnded, isLockedOut };
}

/** The view of a key, without the key itself. */
export function keyView(row: KeyViewRow): ApiKeyView {
  const { id, label, scopes } = row;
  const enrolment = readKeyEnrolment(row.enrolment);
  return {
    id,
    label,
    key_prefix: row.key_prefix,
    key_last4: row.key_last4,
    scopes: readScopes(scopes)?.slice() ?? null,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    expires_at: row.expires_at,
    revoked_at: row.revoked_at,
    created_by: row.created_by,
    parent_id: row.parent_id,
    enrollment: enrollmentView(enrolment),
    uses_remaining: enrolment === null ? null : enrolment.uses - row.uses,
    last_robot_id: row.last_robot_id,
  };
}

function enrollmentView(enrolment: KeyEnrolment | null): ApiKeyView["enrollment"] {
  return enrolment === null ? null : { ...enrolment, labels: Object.fromEntries(readLabels(enrolment.labels)) };
}

/** The view of a new key, with the key itself. */
export function createdView(row: Tables["api_keys"], apiKey: string): ApiKeyView & { readonly api_key: string } {
  return { ...keyView({ ...row, uses: 0, last_robot_id: null }), api_key: apiKey };
}

/** Whether `allowed` includes all of `scopes`; null means all scopes. */
export function isWithin(scopes: readonly ApiKeyScope[] | null, allowed: readonly Scope[] | null): boolean {
  if (allowed === null) return true;
  return scopes !== null && scopes.every((scope) => allowed.includes(scope));
}

/** Maximum keys of an organization that are not revoked, for credentials; bounds a runaway script. The service's own command line has no limit. */
export const API_KEYS_MAXIMUM = 10_000;

export async function insertKey(transaction: Transaction, key: Tables["api_keys"]): Promise<void> {
  await transaction.insertInto("api_keys").values(key).execute();
}

/** Keys of an organization, revoked ones too, oldest first. */
export function listKeys(reader: Reader, organizationId: string, range: PageRange): Promise<KeyViewRow[]> {
  return inRange(selectKeys(reader, organizationId), "id", range).execute();
}

/** Keys of an organization that work at `now` (ISO 8601), newest first. */
export function listWorkingKeys(
  reader: Reader,
  organizationId: string,
  now: string,
  rows: number,
): Promise<KeyViewRow[]> {
  return selectKeys(reader, organizationId).where(worksAt(now)).orderBy("id", "desc").limit(rows).execute();
}

/** The organization of a key, for the service's own command line. */
export async function findKeyOrganization(reader: Reader, id: string): Promise<string | undefined> {
  const key = await reader.selectFrom("api_keys").select("organization_id").where("id", "=", id).executeTakeFirst();
  return key?.organization_id;
}

/**
 * Revokes a key and the keys that depend on it at `at`; later requests with any of them are refused.
 *
 * @returns the ids of all of them, and how many of the others worked until now.
 */
export async function markKeysRevoked(
  transaction: Transaction,
  organizationId: string,
  id: string,
  at: string,
): Promise<{ readonly lineage: readonly string[]; readonly othersEnded: number }> {
  let othersEnded = 0;
  for (;;) {
    const lineage = await lineageOf(transaction, organizationId, id);
    let count = 0;
    for (const ids of chunksOf(lineage)) {
      // Waits for transactions that write with one of these keys; an update alone would not wait.
      await transaction.selectFrom("api_keys").select("id").where("id", "in", ids).orderBy("id").forUpdate().execute();
      const revoked = await transaction
        .updateTable("api_keys")
        .set({ revoked_at: at })
        .where("organization_id", "=", organizationId)
        .where("id", "in", ids)
        .where("revoked_at", "is", null)
        .returning(["id", "expires_at"])
        .execute();
      count += revoked.length;
      othersEnded += revoked.filter((key) => key.id !== id && (key.expires_at === null || key.expires_at > at)).length;
    }
    // Repeat: one of them may have created a key just before its row was locked.
    if (count === 0) return { lineage, othersEnded };
  }
}

/** How many other keys that work at `now` (ISO 8601) depend on a key. */
export async function countEndingWith(
  transaction: Transaction,
  organizationId: string,
  id: string,
  now: string,
): Promise<number> {
  const others = (await lineageOf(transaction, organizationId, id)).filter((other) => other !== id);
  let count = 0;
  for (const ids of chunksOf(others)) count += (await workingCredentials(transaction, ids, now)).size;
  return count;
}

/** How many keys of an organization are not revoked. */
export async function countKeys(transaction: Transaction, organizationId: string): Promise<number> {
  const { count } = await transaction
    .selectFrom("api_keys")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .where("revoked_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}

/** Whether an organization has an unrestricted key that works at `now` (ISO 8601). */
export async function hasUnrestrictedKey(
  transaction: Transaction,
  organizationId: string,
  now: string,
): Promise<boolean> {
  const found = await transaction
    .selectFrom("api_keys")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("scopes", "is", null)
    .where(worksAt(now))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}
