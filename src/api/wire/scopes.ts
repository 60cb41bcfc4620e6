/** Permissions of a key. A key without scopes may do everything except what `robots:enroll` is for. */
export const API_KEY_SCOPES = [
  "robots:setup",
  "robots:read",
  "robots:write",
  "robots:enroll",
  "fleets:write",
  "fleets:read",
  "deployments:write",
  "deployments:read",
  "api-keys:write",
  "api-keys:read",
  "models:read",
  "usage:read",
  "audit:read",
  "webhooks:write",
  "webhooks:read",
] as const;

/** The permission of keys that are made for enrolments and nothing else. */
export const ENROLL_SCOPE = "robots:enroll";

/** Permissions that a key may have together. */
export const GENERAL_SCOPES = API_KEY_SCOPES.filter((scope) => scope !== ENROLL_SCOPE);

/** The permission of a robot's own credential, which no key can have. */
export const ROBOT_SCOPE = "robots:self";
export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];

export type Scope = ApiKeyScope | typeof ROBOT_SCOPE;
