import type { Transaction } from "kysely";

import { API_KEY_SCOPES } from "../../api/api-keys.ts";
import type { ApiKeyScope, ApiKeyView } from "../../api/api-keys.ts";
import type { Random } from "../../platform/random.ts";
import type { Authorship } from "../store/audit.ts";
import { audit } from "../store/audit.ts";
import { API_KEYS_MAXIMUM, countKeys, hasUnrestrictedKey, insertKey, lockKey, markKeyRevoked } from "../store/keys.ts";
import type { KeyViewRow } from "../store/keys.ts";
import { denyLoginsOf } from "../store/logins.ts";
import { endSessionsOf } from "../store/sessions.ts";
import type { Tables } from "../store/tables.ts";
import { API_KEY_LAST_LENGTH, API_KEY_PREFIX, createApiKey, hashApiKey } from "./api-key.ts";
import { readScopes } from "./authenticate.ts";

/** What a new key is to be. */
export interface KeyWish {
  readonly organization_id: string;
  readonly label: string;
  /** Null for a key that may do everything. */
  readonly scopes: readonly ApiKeyScope[] | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  readonly expires_at: string | null;
}

/** A key, which is shown once, and what the store keeps of it. */
export interface MadeKey {
  readonly key: string;
  readonly row: Tables["api_keys"];
}

export function makeKey(wish: KeyWish, id: string, created_at: string, random: Random): MadeKey {
  const { organization_id, label, scopes, expires_at } = wish;
  const key = createApiKey(random);
  return {
    key,
    row: {
      id,
      organization_id,
      label,
      key_sha256: hashApiKey(key),
      key_prefix: API_KEY_PREFIX,
      key_last4: key.slice(-API_KEY_LAST_LENGTH),
      // In one order and each once, however they were asked for.
      scopes: scopes === null ? null : JSON.stringify(API_KEY_SCOPES.filter((scope) => scopes.includes(scope))),
      created_at,
      last_used_at: null,
      expires_at,
      revoked_at: null,
    },
  };
}

/** Adds a key; false when the organization has `API_KEYS_MAXIMUM` already. */
export async function addKey(
  transaction: Transaction<Tables>,
  row: Tables["api_keys"],
  author: Authorship,
): Promise<boolean> {
  if ((await countKeys(transaction, row.organization_id)) >= API_KEYS_MAXIMUM) return false;
  await insertKey(transaction, row);
  await audit(transaction, author, {
    action: "api_key.create",
    subject_id: row.id,
    details: { label: row.label, scopes: row.scopes, expires_at: row.expires_at },
  });
  return true;
}

/**
 * `changed` is false where the key was revoked before. `is_locked_out` tells that no key of the organization may do
 * everything any more: the command line on the service's own computer can make one.
 */
export type Revocation =
  | { readonly state: "revoked"; readonly key: KeyViewRow; readonly changed: boolean; readonly is_locked_out: boolean }
  | { readonly state: "not-found" }
  | { readonly state: "forbidden" };

/**
 * Revokes a key, ends the sessions that go back to it, and denies the logins it approved.
 *
 * @param scopes of the one who revokes: who may not do everything may not end a key that may do more.
 */
export async function revokeKey(
  transaction: Transaction<Tables>,
  organization_id: string,
  id: string,
  scopes: readonly ApiKeyScope[] | null,
  author: Authorship,
): Promise<Revocation> {
  const key = await lockKey(transaction, organization_id, id);
  if (key === undefined) return { state: "not-found" };
  if (!isWithin(readScopes(key.scopes), scopes)) return { state: "forbidden" };
  if (key.revoked_at !== null) return { state: "revoked", key, changed: false, is_locked_out: false };
  const { at } = author;
  await markKeyRevoked(transaction, organization_id, id, at);
  await denyLoginsOf(transaction, id);
  const sessions_ended = await endSessionsOf(transaction, organization_id, id, at);
  await audit(transaction, author, {
    action: "api_key.revoke",
    subject_id: id,
    details: { label: key.label, sessions_ended },
  });
  const is_locked_out = key.scopes === null && !(await hasUnrestrictedKey(transaction, organization_id, at));
  return { state: "revoked", key: { ...key, revoked_at: at }, changed: true, is_locked_out };
}

/** A key as it is shown, which is without the key itself. */
export function keyView(row: KeyViewRow): ApiKeyView {
  const { id, label, key_prefix, key_last4, scopes, created_at, last_used_at, expires_at, revoked_at } = row;
  return {
    id,
    label,
    key_prefix,
    key_last4,
    scopes: readScopes(scopes)?.slice() ?? null,
    created_at,
    last_used_at,
    expires_at,
    revoked_at,
  };
}

/** A key as it is shown once, when it was made. */
export function createdView(row: KeyViewRow, api_key: string): ApiKeyView & { readonly api_key: string } {
  return { ...keyView(row), api_key };
}

/** Whether who may do `allowed` may do all of `scopes`; null is everything. */
function isWithin(scopes: readonly ApiKeyScope[] | null, allowed: readonly ApiKeyScope[] | null): boolean {
  if (allowed === null) return true;
  return scopes !== null && scopes.every((scope) => allowed.includes(scope));
}
