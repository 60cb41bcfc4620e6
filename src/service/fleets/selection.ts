/** Which robots a selection names or matches: for new fleets, for previews, and when a fleet is reconciled. */
import { sql } from "kysely";

import type { FleetPreviewed, PreviewedRobot } from "../../api/fleet-details.ts";
import { type FleetCreate, type FleetPreview, SELECTION_ROBOTS_COUNT } from "../../api/fleets.ts";
import { shown } from "../../documents/texts.ts";
import { endpointWait, missingEndpoint } from "../endpoints/index.ts";
import { answerValue, refuseInvalid } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import { yieldEventLoop } from "../kernel/traffic/event-loop.ts";
import { findVerdicts, resolveSubject, warningsOf } from "../models/index.ts";
import { labelHash, liveRobots } from "../robots/index.ts";
import { matchFindings, selectionFindings, unknownSubject } from "./rules.ts";

/** `POST /v1/fleets/preview`: the robots that a fleet would have now, in order, and which of them could run the subject. */
export function previewFleet({ store: { reader } }: OperationContext): Handler<FleetPreview> {
  return async ({ principal: { organizationId }, body }) => {
    const findings = selectionFindings(body, ["body"]);
    if (findings.length > 0) return refuseInvalid(findings);
    const wanted = body.subject ?? null;
    const subject = wanted === null ? undefined : await resolveSubject(reader, wanted);
    const robotIds = await selectMembers(reader, organizationId, body);
    const unmatched = matchFindings(body, robotIds, ["body"]);
    if (wanted !== null && subject === undefined) return refuseInvalid([...unmatched, unknownSubject(wanted)]);
    if (unmatched.length > 0) return refuseInvalid(unmatched);
    const known = robotIds.filter((id) => id !== null);
    const rows = await liveRobots(reader, organizationId)
      .select(["id as robot_id", "name as robot", "robot_type_id", "region", "site", "equipment_sha256"])
      .where("id", "in", known)
      .execute();
    const fits = wanted === null ? [] : await fitsOf(reader, rows, wanted, subject?.checkpoint_id ?? "");
    const views = rows.map(({ robot_id, robot, robot_type_id, region, site }, index): PreviewedRobot => {
      const fit = fits[index] ?? { fits: null, reason: null };
      return Object.assign({ robot_id, robot, robot_type_id, region, site }, fit);
    });
    const byId = new Map(views.map((view) => [view.robot_id, view]));
    const robots = known.flatMap((id) => byId.get(id) ?? []);
    return answerValue({ robots, total: robots.length } satisfies FleetPreviewed);
  };
}

/** For each of these robots: what it lacks to run the checkpoint, else what it waits for. */
async function fitsOf(
  reader: Reader,
  robots: readonly (Parameters<typeof findVerdicts>[1][number] & { readonly region: string })[],
  subject: string,
  checkpointId: string,
): Promise<readonly Pick<PreviewedRobot, "fits" | "reason" | "warnings">[]> {
  const { requirements } = await reader
    .selectFrom("checkpoints")
    .select("requirements")
    .where("id", "=", checkpointId)
    .executeTakeFirstOrThrow();
  const offered = await reader
    .selectFrom("endpoints")
    .select(["region", "health", "health_since", "last_probed_at", "last_error"])
    .where("checkpoint_id", "=", checkpointId)
    .where("withdrawn_at", "is", null)
    .execute();
  const endpoints = new Map(offered.map((endpoint) => [endpoint.region, endpoint]));
  const verdicts = await findVerdicts(reader, robots, requirements);
  return robots.map(({ region }, index) => {
    const { obstacle = null, warnings = [] } = verdicts[index] ?? {};
    const lack = obstacle ?? missingEndpoint(region, endpoints);
    const said = warningsOf(subject, warnings);
    if (lack !== null) return { fits: false, reason: `${shown(subject)} ${lack}.`, ...said };
    return { fits: true, reason: endpointWait(region, endpoints.get(region)), ...said };
  });
}

/** Ids of the named robots in the order of the request, null for unknown names; or of the robots that the selector matches. */
export async function selectMembers(
  reader: Reader,
  organizationId: string,
  { robots, selector }: Pick<FleetCreate["selection"], "robots" | "selector">,
): Promise<readonly (string | null)[]> {
  if (robots === null || robots === undefined) return selectRobotIds(reader, organizationId, selector ?? {});
  const ids = await findRobotIds(reader, organizationId, robots);
  return robots.map((robot) => ids.get(robot) ?? null);
}

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

/** Robots that one query scans; bounds how long it takes, however few match. */
const ROBOTS_PER_QUERY = 2000;

/** Ids of the robots that a selector matches, oldest first, at most `maximum` + 1. */
export async function selectRobotIds(
  reader: Reader,
  organizationId: string,
  selector: RobotSelector,
  maximum: number = SELECTION_ROBOTS_COUNT.maximum,
): Promise<readonly string[]> {
  const labels = Object.entries(selector.labels ?? {}).map(labelHash);
  const matching: string[] = [];
  for (let after = ""; ;) {
    const scanned = await scanRobots(reader, organizationId, selector, labels, after);
    matching.push(...scanned.filter(({ matches }) => Boolean(matches)).map(({ id }) => id));
    const last = scanned.at(-1);
    if (matching.length > maximum || last === undefined || scanned.length < ROBOTS_PER_QUERY) {
      return matching.slice(0, maximum + 1);
    }
    after = last.id;
    await yieldEventLoop();
  }
}

/** The next robots of the organization, or of those with the selector's first label, and which of them match. */
function scanRobots(
  reader: Reader,
  organizationId: string,
  { site = null, region = null, robot_type_id: robotTypeId = null }: RobotSelector,
  [first, ...others]: readonly string[],
  after: string,
) {
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
  return reader
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
              .whereRef("robot_labels.robot_id", "=", "robots.id")
              .where("label_sha256", "=", label),
          ),
        ),
      ]).as("matches"),
    )
    .orderBy("robots.id")
    .execute();
}
