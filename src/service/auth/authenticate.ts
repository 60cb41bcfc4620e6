import { timingSafeEqual } from "node:crypto";

import { API_KEY_SCOPES } from "../../api/api-keys.ts";
import type { ApiKeyScope } from "../../api/api-keys.ts";
import type { Clock } from "../../platform/clock.ts";
import { findKey } from "../store/keys.ts";
import type { Reader } from "../store/store.ts";
import { hashApiKey, isApiKey } from "./api-key.ts";

/** On whose behalf a request acts. */
export interface Principal {
  readonly organization_id: string;
  readonly key_id: string;
  /** Null for a key that may do everything. */
  readonly scopes: readonly ApiKeyScope[] | null;
}

/** `unauthorized` carries the sentence the client is told. */
export type Authentication =
  | { readonly state: "authenticated"; readonly principal: Principal }
  | { readonly state: "unauthorized"; readonly detail: string };

/** Finds out who sends a request from its `Authorization` header (RFC 6750). */
export async function authenticate(
  reader: Reader,
  clock: Clock,
  authorization: string | undefined,
): Promise<Authentication> {
  const token = bearerToken(authorization);
  if (token === null) return unauthorized("Not authenticated");
  if (!isApiKey(token)) return unauthorized("Invalid API key");
  const hash = hashApiKey(token);
  const key = await findKey(reader, hash);
  if (key === undefined || !isSameHash(key.key_sha256, hash)) return unauthorized("Invalid API key");
  if (key.revoked_at !== null) return unauthorized("API key has been revoked");
  if (key.expires_at !== null && Date.parse(key.expires_at) <= clock.wall_ms())
    return unauthorized("API key has expired");
  const { organization_id, id, scopes } = key;
  return { state: "authenticated", principal: { organization_id, key_id: id, scopes: readScopes(scopes) } };
}

/** Whether the principal may use operations of this scope. */
export function isAllowed(principal: Principal, scope: ApiKeyScope): boolean {
  return principal.scopes === null || principal.scopes.includes(scope);
}

function unauthorized(detail: string): Authentication {
  return { state: "unauthorized", detail };
}

function bearerToken(authorization: string | undefined): string | null {
  const match = /^bearer +(\S+) *$/i.exec(authorization ?? "");
  return match?.[1] ?? null;
}

/** An index lookup compares bytes as it pleases; this comparison does not stop at the first difference. */
function isSameHash(stored: string, computed: string): boolean {
  const [left, right] = [Buffer.from(stored), Buffer.from(computed)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** A scope this program does not know allows nothing. */
function readScopes(scopes: string | null): readonly ApiKeyScope[] | null {
  if (scopes === null) return null;
  const names: unknown = JSON.parse(scopes);
  return Array.isArray(names) ? API_KEY_SCOPES.filter((scope) => names.includes(scope)) : [];
}
