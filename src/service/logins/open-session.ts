import { lockKey } from "../kernel/auth/key-queries.ts";
import { insertSession } from "../kernel/auth/session-queries.ts";
import type { AuditEntry, Authorship } from "../kernel/store/audit.ts";
import { audit } from "../kernel/store/audit.ts";
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
  const latest = new Date(Date.parse(at) + lifetimeMs).toISOString();
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
