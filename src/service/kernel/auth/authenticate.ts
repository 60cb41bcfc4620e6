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

/** The owner of a credential, also of a refused one. */
export type Owner = Pick<Principal, "organization_id" | "credential_id">;

/** On whose behalf a request acts. */
export interface Principal {
  readonly organization_id: string;
  readonly credential: "api_key" | "session";
  /** `key_…` or `ses_…`. */
  readonly credential_id: string;
  /** The key itself, or for a session the key that approved its login or signed in to the console. */
  readonly key_id: string;
  /** Null for a credential that may do everything. */
  readonly scopes: readonly ApiKeyScope[] | null;
  readonly robots: KeyRobots;
  /** ISO 8601; null for a credential that works until it is revoked. */
  readonly expires_at: string | null;
}

/** The credential of a request: from its `Authorization` header, or from the console's cookie. */
export interface Credential {
  readonly kind: "bearer" | "console";
  readonly token: string;
}

/** `unauthorized` has the message for the client, and the owner of a credential that is no longer valid. */
export type Authentication =
  | { readonly state: "authenticated"; readonly principal: Principal }
  | { readonly state: "unauthorized"; readonly detail: string; readonly owner: Owner | null };

/**
 * Authenticates a request by its credential: an API key, or a session token of the command line or the console. A console's token is valid
 * only in the cookie, so one that leaks from a browser cannot be used in a header.
 *
 * Every request queries the store, so that a revocation applies to the next request at every replica.
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

/** Decodes scopes from the store: null for a credential that may do everything. Unknown scopes allow nothing. */
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
      // A key bound to robots can neither approve logins nor sign in to the console.
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

/** The bearer token of the `Authorization` header (RFC 6750); null for anything else. */
export function bearerToken(authorization: string | undefined): string | null {
  const match = /^bearer +(\S+) *$/i.exec(authorization ?? "");
  return match?.[1] ?? null;
}
