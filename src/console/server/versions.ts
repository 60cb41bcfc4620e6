import { createHash } from "node:crypto";

import type { FastifyInstance } from "fastify";

import type { AuditAction } from "../../api/wire/audit-actions.ts";
import type { ApiKeyScope } from "../../api/wire/scopes.ts";
import {
  answerValue,
  type Changes,
  createFresh,
  isAllowed,
  type MountContext,
  readChanges,
  route,
  type ServiceMachine,
  type Store,
} from "../../service/console-door.ts";
import { type Topic, TOPICS, type Versions } from "../topics.ts";
import { VERSIONS_PATH } from "./console-paths.ts";

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

/**
 * `GET /console/versions`: a short text for each topic that the credential may read. It differs once the topic has changed, and is the
 * same from every replica.
 */
export function mountVersions(app: FastifyInstance, context: MountContext, onlineWindowMs: number): void {
  const versionsOf = createVersions(context.store, context.machine, onlineWindowMs);
  route(app, context, { method: "GET", path: VERSIONS_PATH, scopes: "any" }, async (_request, { principal }) => {
    if (principal === null) throw new Error("Nobody was admitted to the versions");
    const versions = await versionsOf(principal.organizationId);
    const readable = TOPICS.filter((topic) => isAllowed(principal, SCOPE_BY_TOPIC[topic]));
    const answer = answerValue(Object.fromEntries(readable.map((topic) => [topic, versions[topic]])));
    return { ...answer, headers: { "cache-control": "no-store" } };
  });
}

/** How long the versions of an organization are taken for current, however many pages ask. */
const FRESH_MS = 1000;
/** How long they stay the same while nothing is committed: robots go offline and windows open by time alone. */
const UNCHANGED_MS = 5000;
/** Organizations whose versions are remembered. */
const ORGANIZATIONS_MAXIMUM = 1000;

/** @param onlineWindowMs how long after its last heartbeat a robot is online. */
export function createVersions(
  store: Pick<Store, "reader" | "version">,
  { clock }: Pick<ServiceMachine, "clock">,
  onlineWindowMs: number,
): (organizationId: string) => Promise<Versions> {
  const readers = new Map<string, () => Promise<Versions>>();

  function createReader(organizationId: string): () => Promise<Versions> {
    let known: { readonly storeVersion: string; readonly untilMs: number; readonly versions: Versions } | null = null;
    return async () => {
      // Read first: a commit during the queries below then shows at the next look too.
      const storeVersion = await store.version();
      const monotonicMs = clock.monotonicMs();
      if (known !== null && known.storeVersion === storeVersion && monotonicMs < known.untilMs) return known.versions;
      const changes = await readChanges(store.reader, organizationId, { nowMs: clock.wallMs(), onlineWindowMs });
      known = { storeVersion, untilMs: monotonicMs + UNCHANGED_MS, versions: versionsFrom(changes) };
      return known.versions;
    };
  }

  return (organizationId) => {
    const read = readers.get(organizationId) ?? createFresh(createReader(organizationId), FRESH_MS, clock);
    // The one that was asked for last comes last.
    readers.delete(organizationId);
    readers.set(organizationId, read);
    const [oldest] = readers.keys();
    if (readers.size > ORGANIZATIONS_MAXIMUM && oldest !== undefined) readers.delete(oldest);
    return read();
  };
}

/** What each topic depends on beside the audit log. */
const PARTS_BY_TOPIC = {
  robots: ["registrations", "presence"],
  enrolments: ["enrolments"],
  fleets: ["registrations", "presence", "fleets", "deployments", "endpoints"],
  deployments: ["deployments", "endpoints"],
  models: ["endpoints"],
  keys: [],
  webhooks: ["webhooks"],
  usage: ["usage", "deployments"],
} as const satisfies Readonly<Record<Topic, readonly Exclude<keyof Changes, "audited">[]>>;

/**
 * Newest audited changes of a topic that make its version. More than one: a replica may commit a change with a slightly older id than
 * others.
 */
const AUDITED_COUNT = 8;

function versionsFrom(changes: Changes): Versions {
  const audited = Map.groupBy(
    changes.audited.flatMap(({ id, action }) => topicsOfAction(action).map((topic) => ({ id, topic }))),
    ({ topic }) => topic,
  );
  const versionOf = (topic: Topic) => {
    const newest = audited.get(topic)?.slice(0, AUDITED_COUNT) ?? [];
    const parts = PARTS_BY_TOPIC[topic].map((part) => changes[part] ?? null);
    return createHash("sha256")
      .update(JSON.stringify([newest, parts]))
      .digest("base64url")
      .slice(0, 8);
  };
  return Object.fromEntries(TOPICS.map((topic) => [topic, versionOf(topic)]));
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
function topicsOfAction(action: string): readonly Topic[] {
  return BY_ACTION.get(action) ?? TOPICS;
}
