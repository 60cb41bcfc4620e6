import { sql } from "kysely";

import type { FleetCreate } from "../../api/fleets.ts";
import type { Reader } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { labelHash } from "../robots/index.ts";

/** Robots that one query looks at: it bounds how long the query takes, whoever matches. */
const LOOKED_AT_ONCE = 2000;

/** Robots by what a request calls them. Where one's name is the id of another, the id counts. */
export async function findRobotIds(
  reader: Reader,
  organizationId: string,
  namesOrIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const robots = reader.selectFrom("robots").select(["id", "name"]).where("organization_id", "=", organizationId);
  // Of one condition or the other PostgreSQL would make a scan of all robots; each by itself has its index.
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

/** Ids of the robots a selector matches, oldest first: one more than `maximum` where there are more than that. */
export async function selectRobotIds(
  reader: Reader,
  organizationId: string,
  selector: RobotSelector,
  maximum: number,
): Promise<readonly string[]> {
  const labels = Object.entries(selector.labels ?? {}).map(labelHash);
  const matching: string[] = [];
  for (let after = ""; ;) {
    const { lookedAt, last_id: lastId, ids } = await selectSome(reader, organizationId, selector, labels, after);
    matching.push(...ids);
    if (matching.length > maximum || lastId === null || lookedAt < LOOKED_AT_ONCE) {
      return matching.slice(0, maximum + 1);
    }
    after = lastId;
    await yieldEventLoop();
  }
}

interface SomeRobots {
  readonly lookedAt: number;
  /** Of those looked at; null where there was none. */
  readonly last_id: string | null;
  /** Of those that match. */
  readonly ids: readonly string[];
}

/** Looks at the next robots of the organization, or at the next of those that have the first label: at so many, whoever matches. */
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
  const some = first === undefined ? robots.limit(LOOKED_AT_ONCE) : labelled.limit(LOOKED_AT_ONCE);
  const rows = await reader
    .selectFrom(some.as("some"))
    .innerJoin("robots", "robots.id", "some.id")
    .select("robots.id")
    .select(({ and, eb, exists, selectFrom }) =>
      and([
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
  return { lookedAt: rows.length, last_id: rows.at(-1)?.id ?? null, ids };
}
