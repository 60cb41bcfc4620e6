import type { RefusalReason } from "../../../api/wire/errors.ts";
import { API_KEY_SCOPES, type ApiKeyScope, ROBOT_SCOPE, type Scope } from "../../../api/wire/scopes.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Reader } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";
import { API_KEY_PREFIX, CONSOLE_TOKEN_PREFIX, hashSecret, isToken, SESSION_TOKEN_PREFIX } from "./token.ts";
import { consoleIdleUntil, findSession, type SessionRow } from "./session-queries.ts";
import { findKey } from "./key-queries.ts";

/** The owner of a credential, also of a refused one. */
export type Owner = Pick<Principal, "organizationId" | "credentialId">;

/** On whose behalf a request acts. */
export interface Principal {
  readonly organizationId: string;
  readonly credential: "api_key" | "session" | "robot";
  /** `key_…` or `ses_…`; for a robot its installation, `rinst_…`. */
  readonly credentialId: string;
  /** The key itself, or for a session the key that approved its login or signed in to the console; for a robot its installation. */
  readonly keyId: string;
  /** Null for a credential that may do everything. */
  readonly scopes: readonly Scope[] | null;
  /** ISO 8601; null for a credential that works until it is revoked. */
  readonly expiresAt: string | null;
  /** Null for a credential that is not a robot's own. */
  readonly robot: PrincipalRobot | null;
}

/** The robot that a credential belongs to. */
export interface PrincipalRobot {
  readonly id: string;
  readonly name: string;
  readonly credential: Omit<Tables["robot_credentials"], "issued_at" | "displaced_by">;
}

/** Why a robot's credential is refused. `isCopied`: reporting with it shows that two computers hold the key. */
export interface CredentialRefusal {
  readonly code: "Unauthorized" | "Forbidden";
  readonly reason: RefusalReason;
  /** For the person at the robot. */
  readonly detail: string;
  readonly isCopied?: true;
}

/** The credential of a request: from its `Authorization` header, or from the console's cookie. */
export interface Credential {
  readonly kind: "bearer" | "console";
  readonly token: string;
}

/** `unauthorized` has the message for the client, and the owner of a credential that is no longer valid. */
export type Authentication =
  | { readonly state: "authenticated"; readonly principal: Principal }
  | {
      readonly state: "unauthorized";
      readonly detail: string;
      readonly owner: Owner | null;
      /** Why a robot's credential is refused. */
      readonly robot?: CredentialRefusal;
    };

/**
 * Authenticates a request by its credential: an API key, or a session token of the command line or the console. A console's token is valid
 * only in the cookie, so one that leaks from a browser cannot be used in a header. Robots' own credentials: see src/service/identity.
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
  if (kind === "console") return authenticateSession(reader, clock, token, "console");
  return token.startsWith(SESSION_TOKEN_PREFIX)
    ? authenticateSession(reader, clock, token, "cli")
    : authenticateKey(reader, clock, token);
}

/** Scopes of credentials that are made for one purpose. */
const ONE_PURPOSE: ReadonlySet<Scope> = new Set(["robots:enroll", ROBOT_SCOPE]);

/** Whether the principal may use operations of this scope. An unrestricted one cannot do what other credentials are made for. */
export function isAllowed({ scopes }: Principal, scope: Scope): boolean {
  return scopes === null ? !ONE_PURPOSE.has(scope) : scopes.includes(scope);
}

/** Whether the credential is good for nothing but what it was made for. */
export function isForOnePurpose({ scopes }: Principal): boolean {
  return scopes !== null && scopes.every((scope) => ONE_PURPOSE.has(scope));
}

/** Decodes scopes from the store: null for a credential that may do everything. Unknown scopes allow nothing. */
export function readScopes(scopes: string | null): readonly ApiKeyScope[] | null {
  if (scopes === null) return null;
  const names: unknown = JSON.parse(scopes);
  return Array.isArray(names) ? API_KEY_SCOPES.filter((scope) => names.includes(scope)) : [];
}

async function authenticateKey(reader: Reader, clock: Clock, token: string): Promise<Authentication> {
  if (!isToken(API_KEY_PREFIX, token)) return unauthorized("Invalid API key");
  const key = await findKey(reader, hashSecret(token));
  if (key === undefined) return unauthorized("Invalid API key");
  const { organization_id: organizationId, id, scopes, expires_at: expiresAt } = key;
  const owner = { organizationId, credentialId: id };
  if (key.revoked_at !== null) return unauthorized("API key has been revoked", owner);
  if (isPast(expiresAt, clock)) return unauthorized("API key has expired", owner);
  return {
    state: "authenticated",
    principal: {
      organizationId,
      credential: "api_key",
      credentialId: id,
      keyId: id,
      scopes: readScopes(scopes),
      expiresAt,
      robot: null,
    },
  };
}

async function authenticateSession(
  reader: Reader,
  clock: Clock,
  token: string,
  kind: SessionRow["kind"],
): Promise<Authentication> {
  const [prefix, unknown] =
    kind === "console"
      ? [CONSOLE_TOKEN_PREFIX, unauthorized("Invalid session")]
      : [SESSION_TOKEN_PREFIX, unauthorized("Invalid session token")];
  if (!isToken(prefix, token)) return unknown;
  const session = await findSession(reader, hashSecret(token));
  if (session === undefined || session.kind !== kind) return unknown;
  const { organization_id: organizationId, id, created_by: createdBy, scopes, expires_at: expiresAt } = session;
  const owner = { organizationId, credentialId: id };
  if (session.revoked_at !== null) return unauthorized("Session has ended", owner);
  if (isPast(expiresAt, clock) || (kind === "console" && isPast(consoleIdleUntil(session), clock))) {
    return unauthorized("Session has expired", owner);
  }
  return {
    state: "authenticated",
    principal: {
      organizationId,
      credential: "session",
      credentialId: id,
      keyId: createdBy,
      scopes: readScopes(scopes),
      expiresAt,
      robot: null,
    },
  };
}

function isPast(expiresAt: string | null, clock: Clock): boolean {
  return expiresAt !== null && Date.parse(expiresAt) <= clock.wallMs();
}

function unauthorized(detail: string, owner: Owner | null = null) {
  return { state: "unauthorized", detail, owner } as const;
}

/** The bearer token of the `Authorization` header (RFC 6750); null for anything else. One with spaces in it is a wrong token, not a missing one. */
export function bearerToken(authorization: string | undefined): string | null {
  const match = /^bearer +([^ ].*)$/i.exec(authorization ?? "");
  return match?.[1] ?? null;
}
