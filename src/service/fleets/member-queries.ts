import { sql } from "kysely";

import type { FleetCreate } from "../../api/fleets.ts";
import type { Reader } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { labelHash, liveRobots } from "../robots/index.ts";

/** Robots that one query scans; bounds how long it takes, however few match. */
const ROBOTS_PER_QUERY = 2000;

/** Finds robots by name or id. If a name equals the id of another robot, the id takes precedence. */
export async function findRobotIds(
  reader: Reader,
  organizationId: string,
  namesOrIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const robots = liveRobots(reader, organizationId).select(["id", "name"]);
  // Two queries, because PostgreSQL would scan all robots for one query with `or`; each condition alone uses its index.
  const rows = await robots
    .where("name", "in", namesOrIds)
    .union(robots.where("id", "in", namesOrIds))
    .execute();
  return new Map([
    ...rows.map(({ id, name }): [string, string] => [name, id]),
    ...rows.map(({ id }): [string, string] => [id, id]),
  ]);
}

type RobotSelector = NonNullable<FleetCreate["selection"]["selector"]>;

/** Ids of the robots that a selector matches, oldest first, at most `maximum` + 1. */
export async function selectRobotIds(
  reader: Reader,
  organizationId: string,
  selector: RobotSelector,
  maximum: number,
): Promise<readonly string[]> {
  const labels = Object.entries(selector.labels ?? {}).map(labelHash);
  const matching: string[] = [];
  for (let after = ""; ;) {
    const { scanned, lastId, ids } = await selectSome(reader, organizationId, selector, labels, after);
    matching.push(...ids);
    if (matching.length > maximum || lastId === null || scanned < ROBOTS_PER_QUERY) {
      return matching.slice(0, maximum + 1);
    }
    after = lastId;
    await yieldEventLoop();
  }
}

interface SomeRobots {
  readonly scanned: number;
  /** Last robot that was scanned; null if there was none. */
  readonly lastId: string | null;
  /** Matching robots. */
  readonly ids: readonly string[];
}

/** Scans the next robots of the organization, or of those with the selector's first label, up to the bound, however many match. */
async function selectSome(
  reader: Reader,
  organizationId: string,
  { site = null, region = null, robot_type_id: robotTypeId = null }: RobotSelector,
  [first, ...others]: readonly string[],
  after: string,
): Promise<SomeRobots> {
  const robots = reader
    .selectFrom("robots")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("id", ">", after)
    .orderBy("id");
  const labelled = reader
    .selectFrom("robot_labels")
    .select("robot_id as id")
    .where("organization_id", "=", organizationId)
    .where("label_sha256", "=", first ?? "")
    .where("robot_id", ">", after)
    .orderBy("robot_id");
  const some = first === undefined ? robots.limit(ROBOTS_PER_QUERY) : labelled.limit(ROBOTS_PER_QUERY);
  const rows = await reader
    .selectFrom(some.as("some"))
    .innerJoin("robots", "robots.id", "some.id")
    .select("robots.id")
    .select(({ and, eb, exists, selectFrom }) =>
      and([
        // Not above: the bound is on the rows that are scanned.
        eb("robots.removed_at", "is", null),
        ...(site === null ? [] : [eb(eb.fn.coalesce("site", sql.lit("")), "=", site)]),
        ...(region === null ? [] : [eb("region", "=", region)]),
        ...(robotTypeId === null ? [] : [eb("robot_type_id", "=", robotTypeId)]),
        ...others.map((label) =>
          exists(
            selectFrom("robot_labels")
              .select(sql.lit(1).as("one"))
              .where("robot_labels.organization_id", "=", organizationId)
              .where("label_sha256", "=", label)
              .whereRef("robot_labels.robot_id", "=", "robots.id"),
          ),
        ),
      ]).as("matches"),
    )
    .orderBy("robots.id")
    .execute();
  const ids = rows.filter(({ matches }) => Boolean(matches)).map(({ id }) => id);
  return { scanned: rows.length, lastId: rows.at(-1)?.id ?? null, ids };
}
