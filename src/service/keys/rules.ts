import type { Transaction } from "kysely";

import type { ApiKeyView } from "../../api/keys.ts";
import { API_KEY_SCOPES } from "../../api/wire/scopes.ts";
import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import type { Random } from "../../platform/random.ts";
import { API_KEY_LAST_LENGTH, API_KEY_PREFIX, createApiKey, hashApiKey } from "../kernel/auth/api-key.ts";
import { readScopes } from "../kernel/auth/authenticate.ts";
import { lockKey } from "../kernel/auth/key-queries.ts";
import type { KeyViewRow } from "../kernel/auth/key-queries.ts";
import { ANY_ROBOTS, readRobotNames } from "../kernel/auth/key-robots.ts";
import type { KeyRobots } from "../kernel/auth/key-robots.ts";
import { endSessionsOf } from "../kernel/auth/session-queries.ts";
import type { Authorship } from "../kernel/store/audit.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { denyLoginsOf } from "../logins/index.ts";
import { API_KEYS_MAXIMUM, countKeys, hasUnrestrictedKey, insertKey, markKeysRevoked } from "./queries.ts";

/** What a new key is to be. */
export interface KeyWish {
  readonly organization_id: string;
  readonly label: string;
  /** Null for a key that may do everything. */
  readonly scopes: readonly ApiKeyScope[] | null;
  /** ISO 8601 in UTC with milliseconds, or null. */
  readonly expires_at: string | null;
  /** Any, when not given. */
  readonly robots?: KeyRobots;
}

/** A key, which is shown once, and what the store keeps of it. */
export interface MadeKey {
  readonly key: string;
  readonly row: Tables["api_keys"];
}

/** A key as the service's own command line makes it. One that is made with another key has more in its row. */
export function makeKey(wish: KeyWish, id: string, createdAt: string, random: Random): MadeKey {
  const { label, scopes, robots = ANY_ROBOTS } = wish;
  const key = createApiKey(random);
  return {
    key,
    row: {
      id,
      organization_id: wish.organization_id,
      label,
      key_sha256: hashApiKey(key),
      key_prefix: API_KEY_PREFIX,
      key_last4: key.slice(-API_KEY_LAST_LENGTH),
      // In one order and each once, however they were asked for.
      scopes: scopes === null ? null : JSON.stringify(API_KEY_SCOPES.filter((scope) => scopes.includes(scope))),
      created_at: createdAt,
      last_used_at: null,
      expires_at: wish.expires_at,
      revoked_at: null,
      created_by: "command",
      parent_id: null,
      robots: robots.names === null ? null : JSON.stringify([...new Set(robots.names)]),
      max_robots: robots.maximum,
    },
  };
}

/** Adds a key; false when the organization has `maximum` already. */
export async function addKey(
  transaction: Transaction<Tables>,
  row: Tables["api_keys"],
  author: Authorship,
  maximum: number = API_KEYS_MAXIMUM.command,
): Promise<boolean> {
  if ((await countKeys(transaction, row.organization_id)) >= maximum) return false;
  await insertKey(transaction, row);
  const { label, scopes, expires_at: expiresAt, parent_id: parentId, robots, max_robots: maxRobots } = row;
  await audit(transaction, author, {
    action: "api_key.create",
    subjectId: row.id,
    details: { label, scopes, expires_at: expiresAt, parent_id: parentId, robots, max_robots: maxRobots },
  });
  return true;
}

/** What a new key has from the one it is made with, or why it cannot be as it was asked for. */
export type Inheritance =
  | { readonly state: "inherits"; readonly lineage: Pick<Tables["api_keys"], "expires_at" | "parent_id"> }
  | { readonly state: "forbidden"; readonly detail: string };

/**
 * A key ends with the one it is made with, at the latest when that expires. Only one that itself goes on for ever and may do everything
 * can make one that goes on without it.
 */
export function inherit(
  parent: Pick<KeyViewRow, "id" | "scopes" | "expires_at">,
  { expiresAt, independent }: { readonly expiresAt: string | null; readonly independent: boolean },
): Inheritance {
  if (!independent) {
    const lineage = { expires_at: earliest(expiresAt, parent.expires_at), parent_id: parent.id };
    return { state: "inherits", lineage };
  }
  if (parent.scopes !== null) {
    return { state: "forbidden", detail: "The API key is restricted, so it cannot make one that is independent of it" };
  }
  if (parent.expires_at !== null) {
    return { state: "forbidden", detail: "The API key expires, so it cannot make one that is independent of it" };
  }
  return { state: "inherits", lineage: { expires_at: expiresAt, parent_id: null } };
}

function earliest(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  return left < right ? left : right;
}

/**
 * `changed` is false where the key was revoked before, `keys_ended` counts those that ended with it. `is_locked_out` tells that no key
 * of the organization may do everything any more: the command line on the service's own computer can make one.
 */
export type Revocation =
  | {
      readonly state: "revoked";
      readonly key: KeyViewRow;
      readonly changed: boolean;
      readonly keys_ended: number;
      readonly is_locked_out: boolean;
    }
  | { readonly state: "not-found" }
  | { readonly state: "forbidden" };

/**
 * Revokes a key and those that end with it, ends the sessions that go back to them, and denies the logins they approved.
 *
 * @param scopes of the one who revokes: who may not do everything may not end a key that may do more.
 */
export async function revokeKey(
  transaction: Transaction<Tables>,
  organizationId: string,
  id: string,
  scopes: readonly ApiKeyScope[] | null,
  author: Authorship,
): Promise<Revocation> {
  const key = await lockKey(transaction, organizationId, id);
  if (key === undefined) return { state: "not-found" };
  if (!isWithin(readScopes(key.scopes), scopes)) return { state: "forbidden" };
  if (key.revoked_at !== null) return { state: "revoked", key, changed: false, keys_ended: 0, is_locked_out: false };
  const { at } = author;
  const { lineage, others_ended: keysEnded } = await markKeysRevoked(transaction, organizationId, id, at);
  await denyLoginsOf(transaction, lineage);
  const sessionsEnded = await endSessionsOf(transaction, organizationId, lineage, at);
  await audit(transaction, author, {
    action: "api_key.revoke",
    subjectId: id,
    details: { label: key.label, keys_ended: keysEnded, sessions_ended: sessionsEnded },
  });
  const isLockedOut = key.scopes === null && !(await hasUnrestrictedKey(transaction, organizationId, at));
  return {
    state: "revoked",
    key: { ...key, revoked_at: at },
    changed: true,
    keys_ended: keysEnded,
    is_locked_out: isLockedOut,
  };
}

/** A key as it is shown, which is without the key itself. */
export function keyView(row: KeyViewRow): ApiKeyView {
  const { id, label, scopes, robots } = row;
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
    robots: readRobotNames(robots)?.slice() ?? null,
    max_robots: row.max_robots,
  };
}

/** A key as it is shown once, when it was made. */
export function createdView(row: KeyViewRow, apiKey: string): ApiKeyView & { readonly api_key: string } {
  return { ...keyView(row), api_key: apiKey };
}

/** Whether who may do `allowed` may do all of `scopes`; null is everything. */
function isWithin(scopes: readonly ApiKeyScope[] | null, allowed: readonly ApiKeyScope[] | null): boolean {
  if (allowed === null) return true;
  return scopes !== null && scopes.every((scope) => allowed.includes(scope));
}
