import { sql } from "kysely";
import type { Transaction } from "kysely";

import type { FleetCreate } from "../../api/fleets.ts";
import { parseJson } from "../json/parse-json.ts";
import type { Json } from "../json/parse-json.ts";
import type { Reader } from "./store.ts";
import type { Tables } from "./tables.ts";

/** Rows fetched at a time where the last word on a robot is not the database's. */
const ROBOTS_AT_A_TIME = 1000;

/** Robots by what a request calls them. Where one's name is the id of another, the id counts. */
export async function findRobotIds(
  reader: Reader | Transaction<Tables>,
  organization_id: string,
  names_or_ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const robots = reader.selectFrom("robots").select(["id", "name"]).where("organization_id", "=", organization_id);
  // Of one condition or the other PostgreSQL would make a scan of all robots; each by itself has its index.
  const rows = await robots
    .where("name", "in", names_or_ids)
    .union(robots.where("id", "in", names_or_ids))
    .execute();
  return new Map([
    ...rows.map(({ id, name }): [string, string] => [name, id]),
    ...rows.map(({ id }): [string, string] => [id, id]),
  ]);
}

type RobotSelector = NonNullable<FleetCreate["selection"]["selector"]>;

/** Ids of the robots a selector matches, oldest first: one more than `maximum` where there are more than that. */
export async function selectRobotIds(
  reader: Reader | Transaction<Tables>,
  organization_id: string,
  { site = null, region = null, robot_type_id = null, labels = {} }: RobotSelector,
  maximum: number,
): Promise<readonly string[]> {
  const wanted = Object.entries(labels);
  const matching: string[] = [];
  let after = "";
  for (;;) {
    const rows = await reader
      .selectFrom("robots")
      .select(["id", "labels"])
      .where("organization_id", "=", organization_id)
      .where("id", ">", after)
      .$if(site !== null, (query) => query.where("site", "=", site))
      .$if(region !== null, (query) => query.where("region", "=", region ?? ""))
      .$if(robot_type_id !== null, (query) => query.where("robot_type_id", "=", robot_type_id ?? ""))
      .where(({ and, ref }) =>
        and(wanted.map((label) => sql<boolean>`${ref("labels")} like ${patternOf(label)} escape '\\'`)),
      )
      .orderBy("id")
      .limit(ROBOTS_AT_A_TIME)
      .execute();
    matching.push(...rows.filter((row) => hasLabels(row.labels, wanted)).map(({ id }) => id));
    const last = rows.at(-1);
    if (matching.length > maximum || last === undefined || rows.length < ROBOTS_AT_A_TIME) {
      return matching.slice(0, maximum + 1);
    }
    after = last.id;
  }
}

type Label = readonly [name: string, value: string];

/** Finds the label in a robot's stored JSON, and little else: SQLite does not tell `A` from `a` here, and a value may look like a label. */
function patternOf([name, value]: Label): string {
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `%${member.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

function hasLabels(stored: string, wanted: readonly Label[]): boolean {
  if (wanted.length === 0) return true;
  const parsed = parseJson(stored);
  const labels = parsed.state === "parsed" && parsed.value instanceof Map ? parsed.value : new Map<string, Json>();
  return wanted.every(([name, value]) => labels.get(name) === value);
}
