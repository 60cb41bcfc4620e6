/** Permissions of a key; a key without scopes may do everything. */
export const API_KEY_SCOPES = [
  "robots:setup",
  "robots:read",
  "fleets:write",
  "fleets:read",
  "deployments:write",
  "deployments:read",
  "api-keys:write",
  "api-keys:read",
  "models:read",
  "usage:read",
  "audit:read",
] as const;

export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];
