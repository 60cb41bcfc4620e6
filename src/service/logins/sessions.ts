/** Sessions of the command line and of the console: how one opens and ends, and what it says of its credential. */
import { isoNow, isoTime } from "../../platform/clock.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { CredentialEndedError } from "../kernel/auth/credentials.ts";
import { lockKey } from "../kernel/auth/key-queries.ts";
import { deleteOldConsoleSessions, endSession, insertSession } from "../kernel/auth/session-queries.ts";
import { type Answer, answerValue, refuse } from "../kernel/http/answers.ts";
import { authorship, type Handler, type OperationContext } from "../kernel/operation.ts";
import { audit, type AuditEntry, type Authorship } from "../kernel/store/audit.ts";
import type { Store, Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { organizationOf } from "../organizations/index.ts";

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

/** `DELETE /v1/cli/session`: ends the session that sent the request, never a key. */
export function endOwnSession({ newId, machine }: OperationContext): Handler<null> {
  return async (call) => {
    const { credential, credentialId: id, organizationId } = call.principal;
    if (credential !== "session") {
      return refuse("Forbidden", "An API key is no session; revoke it with DELETE /v1/me/api-keys/{key_id}");
    }
    const at = isoNow(machine.clock);
    const author = authorship(call, newId, at);
    await call.write(async (transaction) => {
      // Of two concurrent requests that end the session, only one succeeds.
      if (!(await endSession(transaction, organizationId, id, at))) throw new CredentialEndedError();
      await audit(transaction, author, { action: "session.end", subjectId: id, details: {} });
    });
    return answerValue({ id, revoked_at: at });
  };
}

/** `GET /v1/me/session`: describes the credential of the request. */
export function getSession({ store }: OperationContext): Handler<null> {
  return ({ principal }) => answerSession(store, principal);
}

/** Answers with the description of a credential. */
export async function answerSession({ reader }: Pick<Store, "reader">, principal: Principal): Promise<Answer> {
  const { organizationId, credential: type, credentialId: id, keyId, scopes, expiresAt } = principal;
  const organization = await organizationOf(reader, organizationId);
  return answerValue({
    authenticated: true,
    active_organization: { ...organization, role: scopes === null ? "admin" : "member" },
    credential: { id, type, api_key_id: keyId, scopes, expires_at: expiresAt },
  });
}
