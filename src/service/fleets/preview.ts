import type { FleetPreviewed, PreviewedRobot } from "../../api/fleet-details.ts";
import type { FleetPreview } from "../../api/fleets.ts";
import { shown } from "../../documents/texts.ts";
import { endpointWait, missingEndpoint } from "../endpoints/index.ts";
import { answerValue, refuseInvalid } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Location } from "../kernel/validation/finding.ts";
import { findObstacles, resolveSubject } from "../models/index.ts";
import { liveRobots } from "../robots/index.ts";
import { selectMembers } from "./changes.ts";
import type { GenerationFacts } from "./readiness/fleet-facts.ts";
import { matchFindings, selectionFindings, unknownSubject } from "./rules.ts";

const BODY: Location = ["body"];

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
    const judgement = wanted === null || !subject ? null : await judgementOf(reader, wanted, subject.checkpoint_id);
    const known = robotIds.filter((id) => id !== null);
    const robots = await previewRobots(reader, organizationId, known, judgement);
    return answerValue({ robots, total: robots.length } satisfies FleetPreviewed);
  };
}

/** What robots are checked against: a checkpoint's requirements (JSON text from its row) and its endpoints by region. */
interface Judgement {
  readonly subject: string;
  readonly requirements: string;
  readonly endpoints: GenerationFacts["endpoints"];
}

/** Views of these robots, in their order. */
async function previewRobots(
  reader: Reader,
  organizationId: string,
  robotIds: readonly string[],
  judgement: Judgement | null,
): Promise<PreviewedRobot[]> {
  const rows = await liveRobots(reader, organizationId)
    .select(["id as robot_id", "name as robot", "robot_type_id", "region", "site", "equipment_sha256"])
    .where("id", "in", robotIds)
    .execute();
  const obstacles = judgement === null ? [] : await findObstacles(reader, rows, judgement.requirements);
  const views = rows.map((row, index): PreviewedRobot => {
    const { robot_id, robot, robot_type_id, region, site } = row;
    const { fits, reason } = fitOf(region, obstacles[index] ?? null, judgement);
    return { robot_id, robot, robot_type_id, region, site, fits, reason };
  });
  const byId = new Map(views.map((view) => [view.robot_id, view]));
  return robotIds.flatMap((id) => byId.get(id) ?? []);
}

/** What the robot lacks, else what it waits for. */
function fitOf(
  region: string,
  obstacle: string | null,
  judgement: Judgement | null,
): Pick<PreviewedRobot, "fits" | "reason"> {
  if (judgement === null) return { fits: null, reason: null };
  const { subject, endpoints } = judgement;
  const lack = obstacle ?? missingEndpoint(region, endpoints);
  if (lack !== null) return { fits: false, reason: `${shown(subject)} ${lack}.` };
  return { fits: true, reason: endpointWait(region, endpoints.get(region)) };
}

async function judgementOf(reader: Reader, subject: string, checkpointId: string): Promise<Judgement> {
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
  return { subject, requirements, endpoints: new Map(endpoints.map(({ region, ...endpoint }) => [region, endpoint])) };
}
