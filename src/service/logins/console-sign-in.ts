import type { Transaction } from "kysely";

import type { Principal } from "../kernel/auth/authenticate.ts";
import { lockKey } from "../kernel/auth/key-queries.ts";
import { deleteOldConsoleSessions, insertSession } from "../kernel/auth/session-queries.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Authorship } from "../kernel/store/audit.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { NewSession } from "./rules.ts";

/** Maximum lifetime of a console session. */
export const CONSOLE_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;

/** Maximum console sessions of one key; beyond it the oldest are deleted. */
export const CONSOLE_SESSIONS_MAXIMUM = 100;

/**
 * Signs a browser in with a key. Its session has the scopes of the key and ends with it.
 *
 * @returns expiry of the session (ISO 8601), or null if the key no longer works.
 */
export async function signIn(
  transaction: Transaction<Tables>,
  { organization_id: organizationId, key_id: keyId }: Pick<Principal, "organization_id" | "key_id">,
  session: NewSession,
  author: Authorship,
): Promise<string | null> {
  const { at } = author;
  const key = await lockKey(transaction, organizationId, keyId);
  if (key === undefined || key.revoked_at !== null || (key.expires_at ?? at) < at) return null;
  const latest = new Date(Date.parse(at) + CONSOLE_LIFETIME_MS).toISOString();
  const expiresAt = key.expires_at !== null && key.expires_at < latest ? key.expires_at : latest;
  await insertSession(transaction, {
    ...session,
    organization_id: organizationId,
    kind: "console",
    created_by: keyId,
    scopes: key.scopes,
    created_at: at,
    last_used_at: null,
    expires_at: expiresAt,
    revoked_at: null,
  });
  await deleteOldConsoleSessions(transaction, organizationId, keyId, CONSOLE_SESSIONS_MAXIMUM);
  await audit(transaction, author, { action: "session.create", subjectId: session.id, details: { kind: "console" } });
  return expiresAt;
}
