import * as z from "zod";

import type { HttpAnswer } from "../../../src/client/transport/transport.ts";
import type { Scheduler } from "../scheduler.ts";
import type { ReceivedRequest } from "./service/cluster.ts";
import type { Organization } from "./service/prepared-database.ts";
import type { Watcher } from "./service/service-disk.ts";

/**
 * Invariants, checked on the answers that leave a replica and on the database:
 *
 * 1. an acknowledged write is in the database, from then on
 * 2. no answer shows one organization data of another
 * 3. a name belongs to one robot with one id, and its digest is one that the robot sent
 * 4. a revoked key is refused
 * 5. a list contains everything acknowledged before its request
 * 6. the robot counts of a fleet add up
 * 7. an answer about a robot's registration agrees with the database
 * 8. reads are answered as long as the disk is readable
 * 9. a robot has at most one current deployment; its usage periods never overlap and are as long as they state
 * 10. at most one computer is the installation of a robot, and only real copies are reported as copies
 */
export interface Truth {
  sent(name: string, digest: string): void;
  /** The robot of this name, or the fleet of this id, is about to be removed. */
  mayGo(what: string): void;
  answered(received: ReceivedRequest, answer: HttpAnswer): void;
  /** Checks the database. */
  look(): void;
  /** The database was restored to an older state: invariants apply to what it still contains. */
  lose(): void;
  /** Checks that every acknowledged write is still there. */
  checkAcknowledged(): void;
  /** The digest that the service holds. */
  digestOf(name: string): string | null;
  /** What is not settled although nothing disturbs the service; null if everything is. */
  unsettled(): string | null;
  readonly acknowledged: number;
}

export interface TruthOptions {
  readonly database: Watcher;
  readonly scheduler: Scheduler;
  readonly organizations: readonly Organization[];
  /** Whether the database's disk is readable. */
  isReadable(): boolean;
  fail(message: string): void;
}

const ID = /\b(?:rob|rinst|renr|fleet|gen|dep|key|use|aud|ses|ref)_[0-9a-hjkmnp-tv-z]{26}\b/g;
const identified = z.looseObject({ id: z.string() });
const named = z.looseObject({ id: z.string(), name: z.string() });
const fleet = z.looseObject({
  id: z.string(),
  robots: z.object({
    registered: z.int(),
    ready: z.int(),
    active: z.int(),
    waiting: z.int(),
    blocked: z.int(),
  }),
});
const robotRow = z.object({
  organization_id: z.string(),
  id: z.string(),
  name: z.string(),
  configuration_digest: z.string(),
});
const registration = z.object({ robot: z.string(), configuration_digest: z.string() });
const setup = z.object({ name: z.string(), configuration_digest: z.string() });
const periodRow = z.object({
  robot_id: z.string(),
  robot_name: z.string(),
  quantity: z.number(),
  period_start: z.string(),
  period_end: z.string(),
});

/** Creating paths, and the lists that must contain the result. */
const LISTS = new Map<string, readonly [path: string, member: "items" | null, table: string]>([
  ["/v1/robots/setup", ["/v1/robots", null, "robots"]],
  ["/v1/fleets", ["/v1/fleets", null, "fleets"]],
  ["/v1/me/deployments", ["/v1/me/deployments", "items", "deployments"]],
  ["/v1/me/api-keys", ["/v1/me/api-keys", "items", "api_keys"]],
]);

export function createTruth({ database, scheduler, organizations, isReadable, fail }: TruthOptions): Truth {
  const acknowledged = new Set<string>();
  const owners = new Map<string, string>();
  const robotIds = new Map<string, string>();
  const digests = new Map<string, Set<string>>();
  /** Current digests by name, and until when earlier ones were held. */
  const held = new Map<string, string>();
  const heldUntil_ms = new Map<string, number>();
  /** Ids that a list must contain, by organization and path, with the time of acknowledgement. */
  const made = new Map<string, Map<string, number>>();
  /** Time of the acknowledged revocation, by key. */
  const revoked = new Map<string, number>();
  const keys = new Map<string, string>();
  const members = new Map<string, number>();
  const going = new Set<string>();
  /** Number of requested removals not yet observed, by robot name. */
  const removals = new Map<string, number>();
  /** A restored service may have forgotten issued credentials, and report a robot as a copy of itself. */
  let hasLost = false;
  const hasEntry = database.prepare("select count(*) as count from audit_log where request_id = ?");
  const allRobots = database.prepare(
    "select organization_id, id, name, configuration_digest from robots where removed_at is null",
  );
  const oneRobot = database.prepare(
    "select organization_id, id, name, configuration_digest from robots where name = ? and removed_at is null",
  );
  const crowded = database.prepare(
    "select robot_id from deployments where status <> 'retired' group by robot_id having count(*) > 1",
  );
  const unmetered = database.prepare(
    "select id, status, usage_from from deployments where (status = 'active') <> (usage_from is not null) limit 1",
  );
  const doubled = database.prepare(
    "select robot_id from installations where state <> 'revoked' group by robot_id having count(*) > 1",
  );
  const frozen = database.prepare("select robot_id from installations where state = 'frozen' limit 1");
  const restless = database.prepare(
    "select id, status, last_error_code from deployments where status in ('preparing', 'failed') limit 1",
  );
  const updating = database.prepare(
    `select fleets.id from fleets join generations on generations.id = generation_id
     where (update_generation_id is not null or activated_at is null) and fleets.removed_at is null and exists (
       select 1 from fleet_members join robots on robots.id = robot_id where fleet_id = fleets.id and robots.removed_at is null
     ) limit 1`,
  );
  const periods = database.prepare(
    `select robot_id, robot_name, quantity, period_start, period_end
     from usage_records join deployments on deployments.id = deployment_id order by robot_id, period_start`,
  );

  function countEntries(requestId: string): number {
    return z.object({ count: z.number() }).parse(hasEntry.get(requestId)).count;
  }

  function idsOf(table: string): readonly string[] {
    return z
      .array(identified)
      .parse(database.prepare(`select id from ${table}`).all())
      .map(({ id }) => id);
  }

  /** Only a change has an audit entry; a request that changes nothing has none. */
  function mustHaveEntry({ request }: ReceivedRequest, { status }: HttpAnswer): boolean {
    const { pathname } = new URL(request.url);
    if (request.method !== "POST" || status < 200 || status > 299) return false;
    return ["/v1/robots/setup", "/v1/fleets", "/v1/me/api-keys"].includes(pathname);
  }

  /** Whether a setup registered what the database has already, or had when it arrived: then it has no entry. */
  function changesNothing({ request, arrived_ms: arrivedMs }: ReceivedRequest): boolean {
    if (new URL(request.url).pathname !== "/v1/robots/setup") return false;
    const { name, configuration_digest: digest } = setup.parse(JSON.parse(request.body ?? ""));
    return isHeldSince(name, digest, arrivedMs);
  }

  function checkStrangers({ organization, request }: ReceivedRequest, text: string): void {
    for (const { mark } of organizations) {
      if (mark !== organization && text.includes(`arm-${mark}`))
        fail(`${organization} is shown a robot of ${mark} by ${request.url}`);
    }
    for (const [id] of text.matchAll(ID)) {
      const owner = owners.get(id) ?? organization;
      owners.set(id, owner);
      if (owner !== organization) fail(`${organization} is shown ${id} of ${owner} by ${request.url}`);
    }
  }

  function noteMade({ organization, request }: ReceivedRequest, { status }: HttpAnswer, body: unknown): void {
    const { pathname } = new URL(request.url);
    const list = LISTS.get(pathname);
    if (list === undefined || request.method !== "POST" || status > 299) return;
    const { id } = identified.parse(
      pathname === "/v1/robots/setup" ? z.looseObject({ robot: identified }).parse(body).robot : body,
    );
    const key = `${organization} ${list[0]}`;
    const ids = made.get(key) ?? new Map<string, number>();
    made.set(key, ids);
    if (!ids.has(id)) ids.set(id, scheduler.nowMs);
    if (pathname === "/v1/me/api-keys") keys.set(id, z.looseObject({ api_key: z.string() }).parse(body).api_key);
    if (pathname === "/v1/fleets") members.set(id, fleet.parse(body).robots.registered);
  }

  function noteRevoked({ request }: ReceivedRequest, { status }: HttpAnswer): void {
    const [, id = ""] = /^\/v1\/me\/api-keys\/([^/]+)$/.exec(new URL(request.url).pathname) ?? [];
    const key = keys.get(id);
    if (request.method === "DELETE" && status === 200 && key !== undefined && !revoked.has(key))
      revoked.set(key, scheduler.nowMs);
  }

  function checkList(
    { organization, request, arrived_ms: arrivedMs }: ReceivedRequest,
    { status }: HttpAnswer,
    body: unknown,
  ): void {
    if (request.method !== "GET" || status !== 200) return;
    const { pathname } = new URL(request.url);
    const list = [...LISTS.values()].find(([path]) => path === pathname);
    if (list === undefined) return;
    const items = z
      .array(identified)
      .parse(list[1] === null ? body : z.looseObject({ items: z.unknown() }).parse(body).items);
    const ids = new Set(items.map(({ id }) => id));
    if (ids.size !== items.length) fail(`${pathname} contains a duplicate`);
    for (const [id, sinceMs] of made.get(`${organization} ${pathname}`) ?? [])
      if (sinceMs < arrivedMs && !ids.has(id) && !going.has(id))
        fail(`${pathname} lacks ${id}, which was acknowledged earlier`);
    if (pathname === "/v1/robots") {
      const names = new Set(
        z
          .array(named)
          .parse(items)
          .map(({ name }) => name),
      );
      if (names.size !== items.length) fail("two robots have one name");
    }
    if (pathname === "/v1/fleets") for (const item of items) checkFleet(item);
  }

  function checkFleet(view: unknown): void {
    const { id, robots } = fleet.parse(view);
    const { registered, ready, active, waiting, blocked } = robots;
    if (ready + active + waiting + blocked !== registered)
      fail(`the robots of ${id} do not add up: ${JSON.stringify(robots)}`);
    const counted = members.get(id);
    if (counted !== undefined && counted !== registered) fail(`${id} has ${registered} members, expected ${counted}`);
  }

  /** A value that was current when the request arrived is correct, too. */
  function checkRegistration(
    { request, arrived_ms: arrivedMs }: ReceivedRequest,
    { status }: HttpAnswer,
    body: unknown,
  ): void {
    if (request.method !== "GET" || status !== 200 || !request.url.endsWith("/registration")) return;
    const { robot, configuration_digest: digest } = registration.parse(body);
    if (!isHeldSince(robot, digest, arrivedMs))
      fail(`${robot} is reported as registered with ${digest}, which is wrong`);
  }

  /** Whether the database has this digest of a robot, or had it at a time since. */
  function isHeldSince(robot: string, digest: string, sinceMs: number): boolean {
    if (digest === held.get(robot) || digest === digestOf(robot)) return true;
    return (heldUntil_ms.get(`${robot} ${digest}`) ?? Number.NEGATIVE_INFINITY) >= sinceMs;
  }

  function digestOf(name: string): string | null {
    const row = oneRobot.get(name);
    return row === undefined ? null : robotRow.parse(row).configuration_digest;
  }

  /** Each requested removal removes at most one robot. A later robot of that name is another one. */
  function noteRemoved(name: string, how: string): void {
    const requested = removals.get(name) ?? 0;
    if (requested === 0) fail(`${name} ${how}`);
    removals.set(name, requested - 1);
    going.add(robotIds.get(name)?.split(" ")[1] ?? "");
    robotIds.delete(name);
  }

  function lookAtRobots(): void {
    const names = new Set<string>();
    for (const row of z.array(robotRow).parse(allRobots.all())) {
      const { organization_id: organizationId, id, name, configuration_digest: configurationDigest } = row;
      if (names.has(name)) fail(`two robots are called ${name}`);
      names.add(name);
      const known = robotIds.get(name) ?? `${organizationId} ${id}`;
      robotIds.set(name, known);
      if (known !== `${organizationId} ${id}`) {
        noteRemoved(name, `was ${known} and is ${organizationId} ${id}`);
        robotIds.set(name, `${organizationId} ${id}`);
      }
      if (!(digests.get(name)?.has(configurationDigest) ?? false))
        fail(`${name} has ${configurationDigest}, which it never sent`);
      const before = held.get(name);
      if (before !== undefined && before !== configurationDigest)
        heldUntil_ms.set(`${name} ${before}`, scheduler.nowMs);
      held.set(name, configurationDigest);
    }
    for (const name of robotIds.keys()) if (!names.has(name)) noteRemoved(name, "is gone");
  }

  function lookAtInstallations(): void {
    const [robot] = doubled.all();
    if (robot !== undefined) fail(`a robot has two installations: ${JSON.stringify(robot)}`);
    const copied = frozen.get();
    if (copied !== undefined && !hasLost) fail(`a robot is reported as a copy of itself: ${JSON.stringify(copied)}`);
  }

  function lookAtLedger(): void {
    const [robot] = crowded.all();
    if (robot !== undefined) fail(`a robot has two current deployments: ${JSON.stringify(robot)}`);
    const deployment = unmetered.get();
    if (deployment !== undefined) fail(`usage and the state of a deployment disagree: ${JSON.stringify(deployment)}`);
    let last: z.output<typeof periodRow> | null = null;
    for (const period of z.array(periodRow).parse(periods.all())) {
      const {
        robot_id: robotId,
        robot_name: robotName,
        period_start: periodStart,
        period_end: periodEnd,
        quantity,
      } = period;
      if (quantity !== (Date.parse(periodEnd) - Date.parse(periodStart)) / 1000 || quantity <= 0)
        fail(`a period of ${robotName} from ${periodStart} to ${periodEnd} has a quantity of ${quantity} s`);
      if (last?.robot_id === robotId && periodStart < last.period_end)
        fail(`periods of ${robotName} overlap: one ends ${last.period_end}, another begins ${periodStart}`);
      last = period;
    }
  }

  return {
    get acknowledged() {
      return acknowledged.size;
    },
    mayGo(what) {
      removals.set(what, (removals.get(what) ?? 0) + 1);
      going.add(what);
    },
    sent(name, digest) {
      digests.set(name, (digests.get(name) ?? new Set()).add(digest));
    },
    answered(received, answer) {
      const { request, arrived_ms: arrivedMs } = received;
      const text = new TextDecoder().decode(answer.body);
      const { status, headers } = answer;
      const what = `${request.method} ${new URL(request.url).pathname}`;
      if (status === 500) fail(`${what} is answered ${status}: ${text}`);
      if (request.method === "GET" && status === 503 && text.includes("storage") && isReadable())
        fail(`${what} is answered ${status} although the disk can be read: ${text}`);
      checkStrangers(received, text);
      const key = request.headers["authorization"]?.replace("Bearer ", "") ?? "";
      if ((revoked.get(key) ?? Number.POSITIVE_INFINITY) < arrivedMs && status < 300)
        fail(`${what} is answered ${status} to a revoked key`);
      if (key !== "" && text.includes(key)) fail(`${what} repeats the key in its answer`);
      if (mustHaveEntry(received, answer)) {
        const requestId = headers["x-request-id"] ?? "";
        if (countEntries(requestId) === 1) acknowledged.add(requestId);
        else if (!changesNothing(received)) fail(`${what} is acknowledged before it is in the database`);
      }
      const body: unknown = JSON.parse(text);
      noteMade(received, answer, body);
      noteRevoked(received, answer);
      checkList(received, answer, body);
      checkRegistration(received, answer, body);
    },
    look() {
      lookAtRobots();
      lookAtLedger();
      lookAtInstallations();
    },
    lose() {
      hasLost = true;
      for (const requestId of acknowledged) if (countEntries(requestId) === 0) acknowledged.delete(requestId);
      const robots = new Set(idsOf("robots"));
      const live = new Set(idsOf("robots where removed_at is null"));
      for (const [name, known] of robotIds) {
        const id = known.split(" ")[1] ?? "";
        // An older backup brought a removed robot back, and a newer one has its removal.
        const isGoneAgain = going.has(id) && !live.has(id);
        if (isGoneAgain || !robots.has(id)) robotIds.delete(name);
      }
      for (const [, [path, , table]] of LISTS) {
        const ids = new Set(idsOf(table));
        for (const { mark } of organizations)
          for (const id of made.get(`${mark} ${path}`)?.keys() ?? [])
            if (!ids.has(id)) made.get(`${mark} ${path}`)?.delete(id);
      }
      const valid = new Set(idsOf("api_keys where revoked_at is null"));
      for (const [id, key] of keys) if (valid.has(id)) revoked.delete(key);
      held.clear();
      lookAtRobots();
    },
    checkAcknowledged() {
      for (const requestId of acknowledged)
        if (countEntries(requestId) === 0) fail(`an acknowledged write is lost (request ${requestId})`);
    },
    unsettled() {
      const deployment = restless.get();
      if (deployment !== undefined) return `a deployment does not settle: ${JSON.stringify(deployment)}`;
      const update = updating.get();
      return update === undefined ? null : `a fleet update does not complete: ${JSON.stringify(update)}`;
    },
    digestOf,
  };
}
