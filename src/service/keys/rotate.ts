import { type Principal, readScopes } from "../kernel/auth/authenticate.ts";
import { lockKey, lockKeyShared } from "../kernel/auth/key-queries.ts";
import { lineageOf } from "../kernel/auth/lineage.ts";
import { type Answer, refuse } from "../kernel/http/answers.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { API_KEYS_MAXIMUM, countKeys, insertKey } from "./queries.ts";
import { earliest, isWithin } from "./rules.ts";

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
  if ((await countKeys(transaction, organizationId)) >= API_KEYS_MAXIMUM.unrestricted) {
    return refuse("Conflict", "The organization has too many API keys; revoke those it does not need");
  }
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
