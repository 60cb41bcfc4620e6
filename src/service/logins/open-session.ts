import { isoTime } from "../../platform/clock.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { lockKey } from "../kernel/auth/key-queries.ts";
import { deleteOldConsoleSessions, insertSession } from "../kernel/auth/session-queries.ts";
import { audit, type AuditEntry, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/** Created before the transaction, which may run twice. */
export type NewSession = Pick<Tables["sessions"], "id" | "token_sha256">;

interface Origin {
  readonly author: Authorship;
  readonly organizationId: string;
  /** Of the key that the session depends on. */
  readonly keyId: string;
  readonly kind: Tables["sessions"]["kind"];
  readonly lifetimeMs: number;
  /** For the audit log. */
  readonly details: AuditEntry["details"];
}

/**
 * Opens a session of a key: one of the console has the scopes of the key, one of a command line may do everything. It ends with the key.
 *
 * @returns expiry of the session (ISO 8601), or null if the key no longer works.
 */
export async function openSession(
  transaction: Transaction,
  session: NewSession,
  { author, organizationId, keyId, kind, lifetimeMs, details }: Origin,
): Promise<string | null> {
  const { at } = author;
  const key = await lockKey(transaction, organizationId, keyId);
  if (key === undefined || key.revoked_at !== null || (key.expires_at ?? at) < at) return null;
  const latest = isoTime(Date.parse(at) + lifetimeMs);
  const expiresAt = key.expires_at !== null && key.expires_at < latest ? key.expires_at : latest;
  await insertSession(transaction, {
    ...session,
    organization_id: organizationId,
    kind,
    created_by: keyId,
    scopes: kind === "console" ? key.scopes : null,
    created_at: at,
    last_used_at: null,
    expires_at: expiresAt,
    revoked_at: null,
  });
  await audit(transaction, author, { action: "session.create", subjectId: session.id, details });
  return expiresAt;
}

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
