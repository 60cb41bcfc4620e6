import type { Transaction } from "kysely";

import type { Random } from "../../../platform/random.ts";
import { lockKey } from "../../keys/queries.ts";
import type { NewSession } from "../../logins/rules.ts";
import type { Authorship } from "../store/audit.ts";
import { audit } from "../store/audit.ts";
import type { Tables } from "../store/tables.ts";
import type { Principal } from "./authenticate.ts";
import { deleteOldConsoleSessions, insertSession } from "./session-queries.ts";
import type { SessionRow } from "./session-queries.ts";
import { createToken, isToken } from "./token.ts";

/** Tells the console's tokens from those of command lines: neither is good in the other's place. */
const CONSOLE_TOKEN_PREFIX = "rps_console_";

const HOUR_MS = 60 * 60 * 1000;
/** How long a browser stays signed in at most. */
export const CONSOLE_LIFETIME_MS = 7 * 24 * HOUR_MS;
/** How long it stays signed in while nothing of it is heard; a page that listens for changes is heard. */
export const CONSOLE_IDLE_MS = 12 * HOUR_MS;
/** Sessions of one key; the oldest go first. Nobody has so many browsers. */
export const CONSOLE_SESSIONS_MAXIMUM = 100;

export function createConsoleToken(random: Random): string {
  return createToken(CONSOLE_TOKEN_PREFIX, random);
}

/** Whether the text can be a console's token at all, by its shape and checksum. */
export function isConsoleToken(text: string): boolean {
  return isToken(CONSOLE_TOKEN_PREFIX, text);
}

/** Until when a console session works if it is not used meanwhile, as ISO 8601. */
export function consoleIdleUntil({
  created_at: createdAt,
  last_used_at: lastUsedAt,
}: Pick<SessionRow, "created_at" | "last_used_at">): string {
  return new Date(Date.parse(lastUsedAt ?? createdAt) + CONSOLE_IDLE_MS).toISOString();
}

/**
 * Signs a browser in with a key: its session may do what the key may, and ends with it.
 *
 * @returns until when at most (ISO 8601), or null where the key does not work any more.
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
