import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import { isAllowed } from "../../service/console-door.ts";
import type { AuditAction, Principal } from "../../service/console-door.ts";

/** The kinds of things a page shows. */
export const CHANGE_TOPICS = ["robots", "fleets", "deployments", "models", "keys", "usage"] as const;
export type ChangeTopic = (typeof CHANGE_TOPICS)[number];

/** What a credential must be allowed to read, to be told that such a thing changed. */
const SCOPE_BY_TOPIC = {
  robots: "robots:read",
  fleets: "fleets:read",
  deployments: "deployments:read",
  models: "models:read",
  keys: "api-keys:read",
  usage: "usage:read",
} satisfies Readonly<Record<ChangeTopic, ApiKeyScope>>;

/** Those of the topics that the principal may ask for. */
export function readableTopics(topics: readonly ChangeTopic[], principal: Principal): readonly ChangeTopic[] {
  return topics.filter((topic) => isAllowed(principal, SCOPE_BY_TOPIC[topic]));
}

/** What looks different after each action: a robot that registers again may no longer fit its fleet's model. */
const TOPICS_BY_ACTION = {
  "api_key.create": ["keys"],
  "api_key.revoke": ["keys"],
  "deployment.create": ["deployments", "fleets", "usage"],
  "deployment.retire": ["deployments", "fleets", "usage"],
  "fleet.create": ["fleets"],
  "fleet.update_model": ["fleets"],
  "login.approve": [],
  "login.deny": [],
  "models.apply": ["models", "fleets", "deployments"],
  "organization.create": [],
  "robot.setup": ["robots", "fleets"],
  "session.create": [],
  "session.end": [],
} satisfies Readonly<Record<AuditAction, readonly ChangeTopic[]>>;

const TOPICS: ReadonlyMap<string, readonly ChangeTopic[]> = new Map(Object.entries(TOPICS_BY_ACTION));

/** An action of a newer replica is not known here: it may have changed anything. */
export function topicsOfAction(action: string): readonly ChangeTopic[] {
  return TOPICS.get(action) ?? CHANGE_TOPICS;
}
