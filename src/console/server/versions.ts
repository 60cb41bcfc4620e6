import { createHash } from "node:crypto";

import type { FastifyInstance } from "fastify";

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

interface TopicSource {
  /** The scope that a credential needs to hear of changes. */
  readonly scope: ApiKeyScope;
  /** What its version is made of. */
  readonly parts: readonly (keyof Changes)[];
}

/** People change little, and one change may show on several pages: what is audited makes all topics differ. */
const SOURCES: Readonly<Record<Topic, TopicSource>> = {
  robots: { scope: "robots:read", parts: ["audited", "registrations", "presence"] },
  enrolments: { scope: "robots:write", parts: ["audited", "enrolments"] },
  fleets: {
    scope: "fleets:read",
    parts: ["audited", "registrations", "presence", "fleets", "deployments", "endpoints"],
  },
  deployments: { scope: "deployments:read", parts: ["audited", "deployments", "endpoints"] },
  models: { scope: "models:read", parts: ["audited", "endpoints"] },
  keys: { scope: "api-keys:read", parts: ["audited"] },
  webhooks: { scope: "webhooks:read", parts: ["audited", "webhooks"] },
  usage: { scope: "usage:read", parts: ["audited", "usage", "deployments"] },
};

/**
 * `GET /console/versions`: a short text for each topic that the credential may read. It differs once the topic has changed, and is the
 * same from every replica.
 */
export function mountVersions(app: FastifyInstance, context: MountContext, onlineWindowMs: number): void {
  const versionsOf = createVersions(context.store, context.machine, onlineWindowMs);
  route(app, context, { method: "GET", path: VERSIONS_PATH, scopes: "any" }, async (_request, { principal }) => {
    if (principal === null) throw new Error("Nobody was admitted to the versions");
    const versions = await versionsOf(principal.organizationId);
    const readable = TOPICS.filter((topic) => isAllowed(principal, SOURCES[topic].scope));
    const answer = answerValue(Object.fromEntries(readable.map((topic) => [topic, versions[topic]])));
    return { ...answer, headers: { "cache-control": "no-store" } };
  });
}

/** How long the versions of an organization are taken for current, however many pages ask. */
const FRESH_MS = 1000;

/** @param onlineWindowMs how long after its last heartbeat a robot is online. */
export function createVersions(
  { reader }: Pick<Store, "reader">,
  { clock }: Pick<ServiceMachine, "clock">,
  onlineWindowMs: number,
): (organizationId: string) => Promise<Versions> {
  const readers = new Map<string, () => Promise<Versions>>();
  return (organizationId) => {
    const ask = async () =>
      versionsFrom(await readChanges(reader, organizationId, { nowMs: clock.wallMs(), onlineWindowMs }));
    const read = readers.get(organizationId) ?? createFresh(ask, FRESH_MS, clock);
    readers.set(organizationId, read);
    return read();
  };
}

function versionsFrom(changes: Changes): Versions {
  const versionOf = (topic: Topic) =>
    createHash("sha256")
      .update(JSON.stringify(SOURCES[topic].parts.map((part) => changes[part] ?? null)))
      .digest("base64url")
      .slice(0, 8);
  return Object.fromEntries(TOPICS.map((topic) => [topic, versionOf(topic)]));
}
