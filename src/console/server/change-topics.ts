import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import { isAllowed } from "../../service/console-door.ts";
import type { AuditAction, Principal } from "../../service/console-door.ts";

/** The resources that pages show. */
export const CHANGE_TOPICS = ["robots", "fleets", "deployments", "models", "keys", "usage"] as const;
export type ChangeTopic = (typeof CHANGE_TOPICS)[number];

/** The scope that a credential needs to hear of changes to a topic. */
const SCOPE_BY_TOPIC = {
  robots: "robots:read",
  fleets: "fleets:read",
  deployments: "deployments:read",
  models: "models:read",
  keys: "api-keys:read",
  usage: "usage:read",
} satisfies Readonly<Record<ChangeTopic, ApiKeyScope>>;

/** The topics that the principal may read. */
export function readableTopics(topics: readonly ChangeTopic[], principal: Principal): readonly ChangeTopic[] {
  return topics.filter((topic) => isAllowed(principal, SCOPE_BY_TOPIC[topic]));
}

/** Topics that each action affects: after a robot registers again, it may no longer fit its fleet's model. */
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

/** An unknown action comes from a newer replica and may affect every topic. */
export function topicsOfAction(action: string): readonly ChangeTopic[] {
  return TOPICS.get(action) ?? CHANGE_TOPICS;
}
