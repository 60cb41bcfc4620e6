import type { Principal } from "../kernel/auth/authenticate.ts";
import { deleteOldConsoleSessions } from "../kernel/auth/session-queries.ts";
import type { Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { NewSession } from "./open-session.ts";
import { openSession } from "./open-session.ts";

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
  transaction: Transaction,
  { organizationId, keyId }: Pick<Principal, "organizationId" | "keyId">,
  session: NewSession,
  author: Authorship,
): Promise<string | null> {
  const lifetimeMs = CONSOLE_LIFETIME_MS;
  const origin = { author, organizationId, keyId, kind: "console", lifetimeMs, details: { kind: "console" } } as const;
  const expiresAt = await openSession(transaction, session, origin);
  if (expiresAt !== null) {
    await deleteOldConsoleSessions(transaction, organizationId, keyId, CONSOLE_SESSIONS_MAXIMUM);
  }
  return expiresAt;
}
