import type { PreviewedRobot } from "../../api/fleet-details.ts";
import type { FleetPreview } from "../../api/fleets.ts";
import { shown } from "../../manifest/shown.ts";
import { missingEndpoint, endpointWait } from "../endpoints/index.ts";
import type { LongAnswer } from "../kernel/http/answers.ts";
import { refuseInvalid } from "../kernel/http/answers.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import type { Reader } from "../kernel/store/store.ts";
import type { Location } from "../kernel/validation/finding.ts";
import { resolveSubject } from "../models/index.ts";
import { selectMembers } from "./changes.ts";
import { findOffer, loadPreviewedRobots } from "./preview-query.ts";
import type { Offer, PreviewedRow } from "./preview-query.ts";
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
  for (let start = 0; start < robotIds.length; start += PART_ROBOTS) {
    const some = robotIds.slice(start, start + PART_ROBOTS);
    const { requirements = null } = judgement?.offer ?? {};
    const rows = await loadPreviewedRobots(reader, organizationId, some, requirements);
    const printed = some.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [printRobot(row, judgement)];
    });
    yield (start === 0 ? "" : ",") + printed.join(",");
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
