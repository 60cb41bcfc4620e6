import { API_KEY_SCOPES } from "../../../api/wire/scopes.ts";
import type { ApiKeyScope } from "../../../api/wire/scopes.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Reader } from "../store/store.ts";
import { isApiKey } from "./api-key.ts";
import { consoleIdleUntil, isConsoleToken } from "./console-session.ts";
import { findKey } from "./key-queries.ts";
import { ANY_ROBOTS, readRobotNames } from "./key-robots.ts";
import type { KeyRobots } from "./key-robots.ts";
import { findSession } from "./session-queries.ts";
import type { SessionRow } from "./session-queries.ts";
import { isSessionToken, SESSION_TOKEN_PREFIX } from "./session-token.ts";
import { hashSecret, isSameHash } from "./token.ts";

/** Whose request it is, also where it is refused. */
export type Owner = Pick<Principal, "organization_id" | "credential_id">;

/** On whose behalf a request acts. */
export interface Principal {
  readonly organization_id: string;
  readonly credential: "api_key" | "session";
  /** `key_…` or `ses_…`. */
  readonly credential_id: string;
  /** The key the credential goes back to: itself, or for a session the key that approved its login or signed in at the console. */
  readonly key_id: string;
  /** Null for a credential that may do everything. */
  readonly scopes: readonly ApiKeyScope[] | null;
  readonly robots: KeyRobots;
  /** ISO 8601; null for a credential that works until it is revoked. */
  readonly expires_at: string | null;
}

/** What a request authenticates itself with: what its `Authorization` header carries, or the cookie of the console. */
export interface Credential {
  readonly kind: "bearer" | "console";
  readonly token: string;
}

/** `unauthorized` carries the sentence the client is told, and whose credential it was that works no more. */
export type Authentication =
  | { readonly state: "authenticated"; readonly principal: Principal }
  | { readonly state: "unauthorized"; readonly detail: string; readonly owner: Owner | null };

/**
 * Finds out who sends a request from its credential: an API key, or a session token of a command line or a console. Each is good only
 * where it belongs: a token that got out of a browser's cookie is nothing in a header.
 *
 * Every request asks the store, so that a revocation holds for the next one, whichever replica it was sent to.
 */
export async function authenticate(
  reader: Reader,
  clock: Clock,
  credential: Credential | null,
): Promise<Authentication> {
  if (credential === null) return unauthorized("Not authenticated");
  const { kind, token } = credential;
  if (kind === "console") {
    return isConsoleToken(token) ? authenticateSession(reader, clock, token, kind) : unauthorized("Invalid session");
  }
  if (!token.startsWith(SESSION_TOKEN_PREFIX)) return authenticateKey(reader, clock, token);
  return isSessionToken(token)
    ? authenticateSession(reader, clock, token, "cli")
    : unauthorized("Invalid session token");
}

/** Whether the principal may use operations of this scope. */
export function isAllowed(principal: Principal, scope: ApiKeyScope): boolean {
  return principal.scopes === null || principal.scopes.includes(scope);
}

/** Scopes as the store keeps them: null for a credential that may do everything. A scope this program does not know allows nothing. */
export function readScopes(scopes: string | null): readonly ApiKeyScope[] | null {
  if (scopes === null) return null;
  const names: unknown = JSON.parse(scopes);
  return Array.isArray(names) ? API_KEY_SCOPES.filter((scope) => names.includes(scope)) : [];
}

async function authenticateKey(reader: Reader, clock: Clock, token: string): Promise<Authentication> {
  if (!isApiKey(token)) return unauthorized("Invalid API key");
  const hash = hashSecret(token);
  const key = await findKey(reader, hash);
  if (key === undefined || !isSameHash(key.key_sha256, hash)) return unauthorized("Invalid API key");
  const { organization_id: organizationId, id, scopes, expires_at: expiresAt, robots, max_robots: maxRobots } = key;
  const owner = { organization_id: organizationId, credential_id: id };
  if (key.revoked_at !== null) return unauthorized("API key has been revoked", owner);
  if (isPast(expiresAt, clock)) return unauthorized("API key has expired", owner);
  return {
    state: "authenticated",
    principal: {
      organization_id: organizationId,
      credential: "api_key",
      credential_id: id,
      key_id: id,
      scopes: readScopes(scopes),
      robots: { names: readRobotNames(robots), maximum: maxRobots },
      expires_at: expiresAt,
    },
  };
}

async function authenticateSession(
  reader: Reader,
  clock: Clock,
  token: string,
  kind: SessionRow["kind"],
): Promise<Authentication> {
  const hash = hashSecret(token);
  const session = await findSession(reader, hash);
  if (session === undefined || !isSameHash(session.token_sha256, hash) || session.kind !== kind) {
    return unauthorized(kind === "console" ? "Invalid session" : "Invalid session token");
  }
  const { organization_id: organizationId, id, created_by: createdBy, scopes, expires_at: expiresAt } = session;
  const owner = { organization_id: organizationId, credential_id: id };
  if (session.revoked_at !== null) return unauthorized("Session has ended", owner);
  if (isPast(expiresAt, clock) || (kind === "console" && isPast(consoleIdleUntil(session), clock))) {
    return unauthorized("Session has expired", owner);
  }
  return {
    state: "authenticated",
    principal: {
      organization_id: organizationId,
      credential: "session",
      credential_id: id,
      key_id: createdBy,
      scopes: readScopes(scopes),
      // A key that is bound to robots neither approves logins nor signs in to the console.
      robots: ANY_ROBOTS,
      expires_at: expiresAt,
    },
  };
}

function isPast(expiresAt: string | null, clock: Clock): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= clock.wallMs();
}

function unauthorized(detail: string, owner: Owner | null = null): Authentication {
  return { state: "unauthorized", detail, owner };
}

/** What the `Authorization` header carries (RFC 6750); null for anything but one bearer token. */
export function bearerToken(authorization: string | undefined): string | null {
  const match = /^bearer +(\S+) *$/i.exec(authorization ?? "");
  return match?.[1] ?? null;
}
