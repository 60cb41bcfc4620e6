import type { PreviewedRobot } from "../../api/fleet-details.ts";
import type { FleetPreview } from "../../api/fleets.ts";
import { shown } from "../../documents/texts.ts";
import { endpointWait, missingEndpoint } from "../endpoints/index.ts";
import { type LongAnswer, refuseInvalid } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import type { Location } from "../kernel/validation/finding.ts";
import { findObstacles, resolveSubject } from "../models/index.ts";
import { liveRobots } from "../robots/index.ts";
import { selectMembers } from "./changes.ts";
import type { GenerationFacts } from "./readiness/fleet-facts.ts";
import { matchFindings, selectionFindings, unknownSubject } from "./rules.ts";

const BODY: Location = ["body"];
/** Robots in memory at once: the labels of each may be long. */
const PART_ROBOTS = 100;

/** `POST /v1/fleets/preview`: the robots that a fleet would have now, in order, and which of them could run the subject. */
export function previewFleet({ store: { reader } }: OperationContext): Handler<FleetPreview> {
  return async ({ principal: { organizationId }, body }) => {
    const findings = selectionFindings(body, BODY);
    if (findings.length > 0) return refuseInvalid(findings);
    const { subject: wanted = null } = body;
    const subject = wanted === null ? null : await resolveSubject(reader, wanted);
    const robotIds = await selectMembers(reader, organizationId, body);
    const unmatched = matchFindings(body, robotIds, BODY);
    if (wanted !== null && subject === undefined) return refuseInvalid([...unmatched, unknownSubject(wanted)]);
    if (unmatched.length > 0) return refuseInvalid(unmatched);
    const { checkpoint_id: checkpointId = null } = subject ?? {};
    const offer = checkpointId === null ? null : await findOffer(reader, checkpointId);
    const known = robotIds.filter((id) => id !== null);
    const judgement = wanted === null || offer === null ? null : { subject: wanted, offer };
    return { status: 200, parts: printInParts(reader, organizationId, known, judgement) } satisfies LongAnswer;
  };
}

/** What robots are checked against. */
interface Judgement {
  readonly subject: string;
  readonly offer: Offer;
}

async function* printInParts(
  reader: Reader,
  organizationId: string,
  robotIds: readonly string[],
  judgement: Judgement | null,
): AsyncGenerator<string> {
  yield `{"total":${robotIds.length},"robots":[`;
  let separator = "";
  for (let start = 0; start < robotIds.length; start += PART_ROBOTS) {
    const some = robotIds.slice(start, start + PART_ROBOTS);
    const { requirements = null } = judgement?.offer ?? {};
    const rows = await loadPreviewedRobots(reader, organizationId, some, requirements);
    const printed = some.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [printRobot(row, judgement)];
    });
    // Robots may be removed meanwhile, all of a part too.
    if (printed.length === 0) continue;
    yield separator + printed.join(",");
    separator = ",";
  }
  yield "]}";
}

function printRobot(row: PreviewedRow, judgement: Judgement | null): string {
  const { id: robotId, name: robot, robot_type_id: robotTypeId, region, site } = row;
  const lack = judgement === null ? null : (row.obstacle ?? missingEndpoint(region, judgement.offer.endpoints));
  const labels: unknown = JSON.parse(row.labels);
  const fits = judgement === null ? null : lack === null;
  const reason = judgement === null ? null : reasonOf(region, judgement, lack);
  const view: Record<keyof PreviewedRobot, unknown> = {
    robot_id: robotId,
    robot,
    robot_type_id: robotTypeId,
    region,
    site,
    labels,
    fits,
    reason,
  };
  return JSON.stringify(view);
}

/** What the robot lacks, else what it waits for. */
function reasonOf(region: string, { subject, offer }: Judgement, lack: string | null): string | null {
  return lack === null ? endpointWait(region, offer.endpoints.get(region)) : `${shown(subject)} ${lack}.`;
}

/** A robot that a fleet would have, and why a checkpoint cannot drive it; null if it can. */
export interface PreviewedRow extends Pick<
  Tables["robots"],
  "id" | "name" | "robot_type_id" | "region" | "site" | "labels"
> {
  readonly obstacle: string | null;
}

/** @param requirements JSON text from the row of the checkpoint; null to check no robot. */
export async function loadPreviewedRobots(
  reader: Reader,
  organizationId: string,
  robotIds: readonly string[],
  requirements: string | null,
): Promise<ReadonlyMap<string, PreviewedRow>> {
  const rows = await liveRobots(reader, organizationId)
    .select(["id", "id as robot_id", "name", "robot_type_id", "region", "site", "labels", "equipment_sha256"])
    .where("id", "in", robotIds)
    .execute();
  const obstacles = requirements === null ? [] : await findObstacles(reader, rows, requirements);
  return new Map(rows.map((row, index) => [row.id, { ...row, obstacle: obstacles[index] ?? null }]));
}

/** A checkpoint's requirements (JSON text from its row) and its endpoints by region. */
export interface Offer {
  readonly requirements: string;
  readonly endpoints: GenerationFacts["endpoints"];
}

export async function findOffer(reader: Reader, checkpointId: string): Promise<Offer> {
  const { requirements } = await reader
    .selectFrom("checkpoints")
    .select("requirements")
    .where("id", "=", checkpointId)
    .executeTakeFirstOrThrow();
  const endpoints = await reader
    .selectFrom("endpoints")
    .select(["region", "health", "health_since", "last_probed_at", "last_error"])
    .where("checkpoint_id", "=", checkpointId)
    .where("withdrawn_at", "is", null)
    .execute();
  return { requirements, endpoints: new Map(endpoints.map(({ region, ...endpoint }) => [region, endpoint])) };
}
