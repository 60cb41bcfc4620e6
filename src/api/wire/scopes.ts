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

/** What a key with each permission may do. */
export const SCOPE_MEANINGS: Readonly<Record<ApiKeyScope, string>> = {
  "robots:setup": "register robots, and see a robot's last registration: all that a robot needs",
  "robots:read": "list and see robots and their computers",
  "robots:write": "approve, allow and deny enrolments; thaw, recover, rename and remove robots",
  "robots:enroll": "enroll robots without an approval, and nothing else: `keys create --enroll`",
  "fleets:write": "create, change and delete fleets",
  "fleets:read": "list and see fleets",
  "deployments:write": "deploy and retire",
  "deployments:read": "list and see deployments",
  "api-keys:write": "create and revoke keys that have no more scopes than the key itself",
  "api-keys:read": "list keys",
  "models:read": "list and see models, and the health of their endpoints",
  "usage:read": "list usage",
  "audit:read": "see who changed what, and which registrations were refused (the latter also with `robots:read`)",
  "webhooks:write": "create, test, rotate and delete webhooks",
  "webhooks:read": "list webhooks",
};

export type Scope = ApiKeyScope | typeof ROBOT_SCOPE;
