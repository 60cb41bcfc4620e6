import type { AuditAction } from "../../api/wire/audit-actions.ts";
import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import { isAllowed, type Principal } from "../../service/console-door.ts";
import { type Topic, TOPICS } from "../topics.ts";

/** The scope that a credential needs to hear of changes to a topic. */
const SCOPE_BY_TOPIC = {
  robots: "robots:read",
  enrolments: "robots:write",
  fleets: "fleets:read",
  deployments: "deployments:read",
  models: "models:read",
  keys: "api-keys:read",
  webhooks: "webhooks:read",
  usage: "usage:read",
} satisfies Readonly<Record<Topic, ApiKeyScope>>;

/** The topics that the principal may read. */
export function readableTopics(topics: readonly Topic[], principal: Principal): readonly Topic[] {
  return topics.filter((topic) => isAllowed(principal, SCOPE_BY_TOPIC[topic]));
}

/**
 * Topics that each action affects: after a robot registers again, it may no longer fit its fleet's model; a revoked key no longer allows
 * computers to enroll.
 */
const TOPICS_BY_ACTION = {
  "api_key.create": ["keys"],
  "api_key.revoke": ["keys", "enrolments"],
  "api_key.rotate": ["keys"],
  "deployment.create": ["deployments", "fleets", "usage"],
  "deployment.retire": ["deployments", "fleets", "usage"],
  "enrolment.approve": ["enrolments"],
  "enrolment.deny": ["enrolments"],
  "enrolment.start": ["enrolments", "keys"],
  "fleet.create": ["fleets"],
  "fleet.reconcile": ["fleets"],
  "fleet.remove": ["fleets"],
  "fleet.update_model": ["fleets"],
  "installation.freeze": ["robots"],
  "installation.recover": ["robots"],
  "installation.recovery_refused": ["robots"],
  "installation.renew_out_of_order": ["robots"],
  "installation.set_recoveries": ["robots"],
  "installation.thaw": ["robots"],
  "login.approve": [],
  "login.deny": [],
  "models.apply": ["models", "fleets", "deployments"],
  "organization.create": [],
  "robot.enroll": ["robots", "fleets", "enrolments"],
  "robot.remove": ["robots", "fleets", "deployments", "usage"],
  "robot.rename": ["robots", "enrolments", "fleets", "deployments", "usage"],
  "robot.replace_computer": ["robots", "fleets"],
  "robot.setup": ["robots", "fleets"],
  "session.create": [],
  "session.end": [],
  "webhook.create": ["webhooks"],
  "webhook.delete": ["webhooks"],
  "webhook.rotate_secret": ["webhooks"],
} satisfies Readonly<Record<AuditAction, readonly Topic[]>>;

const BY_ACTION: ReadonlyMap<string, readonly Topic[]> = new Map(Object.entries(TOPICS_BY_ACTION));

/** An unknown action comes from a newer replica and may affect every topic. */
export function topicsOfAction(action: string): readonly Topic[] {
  return BY_ACTION.get(action) ?? TOPICS;
}
