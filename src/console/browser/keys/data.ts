import type * as z from "zod";

import type { apiKeyListSchema, ApiKeyView } from "../../../api/keys.ts";
import type { ApiKeyScope, ENROLL_SCOPE } from "../../../api/wire/scopes.ts";
import { sessionView } from "../data/session.ts";
import { type Data, useData } from "../data/use-data.ts";

export function useKeys(): Data<z.output<typeof apiKeyListSchema>> {
  return useData("/v1/me/api-keys", ["keys"]);
}

/** The scopes of keys, in words. */
export const SCOPES = {
  "robots:setup": "Register robots",
  "robots:read": "See robots",
  "robots:write": "Approve and remove robots",
  "fleets:write": "Create and change fleets",
  "fleets:read": "See fleets",
  "deployments:write": "Deploy and retire",
  "deployments:read": "See deployments",
  "api-keys:write": "Create and revoke keys",
  "api-keys:read": "See keys",
  "models:read": "See the catalog",
  "usage:read": "See usage",
  "audit:read": "See who changed what",
  "webhooks:write": "Create and delete webhooks",
  "webhooks:read": "See webhooks",
} as const satisfies Record<Exclude<ApiKeyScope, typeof ENROLL_SCOPE>, string>;

export type KeyState = "active" | "expired" | "revoked";

export function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyView, nowMs: number): KeyState {
  if (revokedAt !== null && revokedAt !== undefined) return "revoked";
  if (expiresAt !== null && expiresAt !== undefined && Date.parse(expiresAt) <= nowMs) return "expired";
  return "active";
}

/** Prefix and last four characters: the service stores no more of the key in plain text. */
export function keyText({ key_prefix: keyPrefix, key_last4: keyLast4 }: ApiKeyView): string {
  return `${keyPrefix ?? ""}…${keyLast4 ?? ""}`;
}

/** The label of a key, or else its prefix and last four characters. */
export function labelOf(key: ApiKeyView): string {
  const { label } = key;
  return label === null || label === undefined || label.trim() === "" ? keyText(key) : label;
}

/** Whether the person is signed in by this key. */
export function isOwn({ id }: ApiKeyView): boolean {
  return sessionView()?.credential?.api_key_id === id;
}
