import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { LIVE_COLUMNS, type LiveRow, type Presence, presenceOf } from "../installations/index.ts";
import { chunksOf } from "../kernel/auth/lineage.ts";
import { inRange, type PageRange } from "../kernel/lists/page-range.ts";
import type { Reader } from "../kernel/store/store.ts";
import { type RobotRow, SHOWN_COLUMNS } from "./queries.ts";

/** What the answers show of a robot, with its live installation. */
export type IdentifiedRow = RobotRow & LiveRow;

/** Robots of an organization, oldest first; with `wanted` without those that are not of the status, as far as the store knows. */
export function listIdentifiedRobots(
  reader: Reader,
  organizationId: string,
  range: PageRange,
  wanted: (Pick<Presence, "onlineSince"> & { readonly status: "online" | "offline" }) | null = null,
): Promise<readonly IdentifiedRow[]> {
  const robots = identified(reader, organizationId);
  if (wanted === null) return inRange(robots, "robots.id", range).execute();
  const possible = robots.where(({ eb, or }) =>
    wanted.status === "online"
      ? // Not `=`, with which PostgreSQL, until it has statistics, joins and sorts all robots for each page.
        eb("installations.state", "is not distinct from", "active")
      : or([
          eb("installations.state", "is distinct from", "active"),
          eb("installations.last_seen_at", "is", null),
          eb("installations.last_seen_at", "<", wanted.onlineSince),
        ]),
  );
  return inRange(possible, "robots.id", range).execute();
}

/** Those of these robots that are there, by name. */
export async function findIdentifiedRobots(
  reader: Reader,
  organizationId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, IdentifiedRow>> {
  const found = new Map<string, IdentifiedRow>();
  for (const chunk of chunksOf([...new Set(names)])) {
    const rows = await identified(reader, organizationId).where("robots.name", "in", chunk).execute();
    for (const row of rows) found.set(row.name, row);
  }
  return found;
}

export function findIdentifiedRobot(
  reader: Reader,
  organizationId: string,
  robotId: string,
): Promise<IdentifiedRow | undefined> {
  return identified(reader, organizationId).where("robots.id", "=", robotId).executeTakeFirst();
}

/** The robot with this id, or else with this name. */
export async function findByNameOrId(
  reader: Reader,
  organizationId: string,
  robot: string,
): Promise<IdentifiedRow | undefined> {
  return (
    (await findIdentifiedRobot(reader, organizationId, robot)) ??
    (await identified(reader, organizationId).where("robots.name", "=", robot).executeTakeFirst())
  );
}

function identified(reader: Reader, organizationId: string) {
  return reader
    .selectFrom("robots")
    .leftJoin("installations", "installations.id", "robots.installation_id")
    .select(SHOWN_COLUMNS.map((column) => `robots.${column}` as const))
    .select(LIVE_COLUMNS)
    .where("robots.organization_id", "=", organizationId)
    .where("robots.removed_at", "is", null);
}

/** A robot as the answers show it. */
export function identifiedRobotView(row: IdentifiedRow, presence: Presence): IdentifiedRobotView {
  const known = presenceOf(row, presence);
  const siteInference: unknown = row.site_inference === null ? null : JSON.parse(row.site_inference);
  return {
    id: row.id,
    name: row.name,
    robot_type_id: row.robot_type_id,
    region: row.region,
    created_at: row.created_at,
    ...eachOf(ROBOT_TEXT_NAMES, (text) => row[text]),
    labels: JSON.parse(row.labels),
    status: known.status,
    installation_id: row.installation_id,
    last_seen_at: known.last_seen_at,
    location: null,
    site_inference: siteInference,
    presence: known.presence,
    not_ready_reason: known.not_ready_reason,
  };
}
