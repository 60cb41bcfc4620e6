import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { RobotsQuery } from "../../api/robots.ts";
import { type Liveness, type Presence, presenceAt, type PresenceContext, presenceOf } from "../installations/index.ts";
import { type Principal } from "../kernel/auth/authenticate.ts";
import { answerValue, refuse } from "../kernel/http/answers.ts";
import { answerList } from "../kernel/lists/answer-list.ts";
import { createListCache } from "../kernel/lists/list-cache.ts";
import type { PageRange } from "../kernel/lists/page-range.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findByNameOrId, identifiedRobotView, type IdentifiedRow, listIdentifiedRobots } from "./identified-robots.ts";

export const UNKNOWN_ROBOT = refuse("NotFound", "Robot not found");

/** Rows that a filtered list reads per query. */
const SCANNED_ROWS = 200;

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
            ? listIdentifiedRobots(store.reader, organizationId, range)
            : listOfStatus(store.reader, organizationId, range, { status, presence }),
        view: viewOf,
      });
    if (limit !== undefined || cursor !== undefined || status !== undefined) return read();
    const validUntilMs = () =>
      firstOffline === null ? Number.POSITIVE_INFINITY : Date.parse(firstOffline) + identity.onlineWindowMs;
    return cache.answer(organizationId, read, validUntilMs);
  };
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
    const wanted = { status, onlineSince: presence.onlineSince };
    const rows = await listIdentifiedRobots(reader, organizationId, { after, rows: SCANNED_ROWS }, wanted);
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
    const robot = await findByNameOrId(store.reader, principal.organizationId, path["robot"] ?? "");
    if (robot === undefined || !maySee(principal, robot)) return UNKNOWN_ROBOT;
    return answerValue(identifiedRobotView(robot, presenceAt(machine.clock.wallMs(), context)));
  };
}

/** A robot's own credential sees that robot only. */
export function maySee({ robot: own }: Principal, { id }: Pick<IdentifiedRow, "id">): boolean {
  return own === null || own.id === id;
}
