/** Robots as the answers show them, with what is known of their computers. */
import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import { type IdentifiedRobotView, ROBOT_FLEETS_SHOWN } from "../../api/robot-views.ts";
import type { RobotsQuery } from "../../api/robots.ts";
import {
  LIVE_COLUMNS,
  type Liveness,
  type LiveRow,
  type Presence,
  presenceAt,
  type PresenceContext,
  presenceOf,
} from "../identity/index.ts";
import { isAllowed, type Principal } from "../kernel/auth/authenticate.ts";
import { chunksOf } from "../kernel/auth/lineage.ts";
import { answerValue, refuse } from "../kernel/http/answers.ts";
import { answerList } from "../kernel/lists/answer-list.ts";
import { createListCache } from "../kernel/lists/list-cache.ts";
import { inRange, type PageRange } from "../kernel/lists/pages.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findRobot, type RobotRow, SHOWN_COLUMNS } from "./robots.ts";

export const UNKNOWN_ROBOT = refuse("NotFound", "Robot not found");

/** Rows that a filtered list reads per query. */
const SCANNED_ROWS = 1000;

export interface RobotViewsContext extends PresenceContext, Pick<OperationContext, "store" | "machine"> {
  readonly liveness: Pick<Liveness, "seen" | "revision">;
}

/** `GET /v1/robots`: the robots of the organization, oldest first. */
export function listOrganizationRobots(context: RobotViewsContext): Handler<null, RobotsQuery> {
  const { store, machine, liveness, identity } = context;
  const version = async () => `${await store.version()} ${liveness.revision}`;
  const cache = createListCache({ version }, machine.clock);
  return (call) => {
    const { organizationId } = call.principal;
    const { limit, cursor, status } = call.query;
    const presence = presenceAt(machine.clock.wallMs(), context);
    let firstOffline: string | null = null;
    const viewOf = (row: IdentifiedRow): IdentifiedRobotView => {
      const view = identifiedRobotView(row, presence);
      const { last_seen_at: lastSeen } = view;
      if (view.status === "online" && (firstOffline === null || (lastSeen ?? "") < firstOffline))
        firstOffline = lastSeen;
      return view;
    };
    const read = () =>
      answerList(call, {
        prefix: "rob",
        around: ["[", "]"],
        fetch: (range) =>
          status === undefined
            ? listRobots(store.reader, organizationId, range)
            : listOfStatus(store.reader, organizationId, range, { status, presence }),
        view: viewOf,
      });
    if (limit !== undefined || cursor !== undefined || status !== undefined) return read();
    const validUntilMs = () =>
      firstOffline === null ? Number.POSITIVE_INFINITY : Date.parse(firstOffline) + identity.onlineWindowMs;
    return cache.answer(organizationId, read, validUntilMs);
  };
}

/** Robots of an organization, oldest first. */
function listRobots(reader: Reader, organizationId: string, range: PageRange): Promise<readonly IdentifiedRow[]> {
  return inRange(identified(reader, organizationId), "robots.id", range).execute();
}

/** The next robots of a status. Which one they have, the store alone does not know. */
async function listOfStatus(
  reader: Reader,
  organizationId: string,
  { after: first, rows: maximum }: PageRange,
  { status, presence }: { readonly status: NonNullable<RobotsQuery["status"]>; readonly presence: Presence },
): Promise<readonly IdentifiedRow[]> {
  const found: IdentifiedRow[] = [];
  for (let after = first; ;) {
    const rows = await listRobots(reader, organizationId, { after, rows: SCANNED_ROWS });
    found.push(...rows.filter((row) => presenceOf(row, presence).status === status));
    const last = rows.at(-1);
    if (last === undefined || rows.length < SCANNED_ROWS || found.length >= maximum) {
      return found.slice(0, maximum);
    }
    after = last.id;
    await yieldEventLoop();
  }
}

/** `GET /v1/robots/{robot}`: by id or name. */
export function getRobot(context: RobotViewsContext): Handler<null> {
  const { store, machine } = context;
  return async ({ principal, path }) => {
    const { organizationId } = principal;
    const found = await findRobot(store.reader, organizationId, path["robot"] ?? "");
    if (found === undefined || !maySee(principal, found)) return UNKNOWN_ROBOT;
    const robot = await findIdentifiedRobot(store.reader, organizationId, found.id);
    if (robot === undefined) return UNKNOWN_ROBOT;
    const view = identifiedRobotView(robot, presenceAt(machine.clock.wallMs(), context));
    if (!isAllowed(principal, "fleets:read")) return answerValue(view);
    return answerValue({ ...view, fleets: await fleetsOf(store.reader, robot.id) });
  };
}

function fleetsOf(reader: Reader, robotId: string): Promise<IdentifiedRobotView["fleets"]> {
  return reader
    .selectFrom("fleet_members")
    .innerJoin("fleets", "fleets.id", "fleet_members.fleet_id")
    .innerJoin("generations", "generations.id", "fleets.generation_id")
    .select(["fleets.id", "fleets.name", "generations.subject"])
    .where("fleet_members.robot_id", "=", robotId)
    .orderBy("fleets.name")
    .limit(ROBOT_FLEETS_SHOWN)
    .execute();
}

/** A robot's own credential sees that robot only. */
export function maySee({ robot: own }: Principal, { id }: Pick<IdentifiedRow, "id">): boolean {
  return own === null || own.id === id;
}

/** What the answers show of a robot, with its live installation. */
export type IdentifiedRow = RobotRow & LiveRow;

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
