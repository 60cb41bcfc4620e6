import { isoTime } from "../../platform/clock.ts";
import { type Presence, presenceAt } from "../installations/index.ts";
import { keyFingerprint } from "../../platform/ed25519.ts";
import { answerValue, isAnswer } from "../kernel/http/answers.ts";
import type { Handler } from "../kernel/operation.ts";
import { isOnlyOrganization } from "../organizations/index.ts";
import { findIdentifiedRobots, identifiedRobotView, type IdentifiedRow, robotNameOf } from "../robots/index.ts";
import { type GuessLimit, showUserCode } from "./codes.ts";
import { lookUp } from "./decide.ts";
import { listWaiting } from "./queries.ts";
import { UNKNOWN_CODE } from "./refusals.ts";
import type { EnrolmentRow } from "./rules.ts";
import type { EnrolmentsContext } from "./start.ts";

/** `GET /v1/robot-enrollments`: newest first. */
export function listEnrolments(context: EnrolmentsContext): Handler<null> {
  const { machine } = context;
  const { reader } = context.store;
  return async ({ principal: { organizationId } }) => {
    const nowMs = machine.clock.wallMs();
    const now = isoTime(nowMs);
    const isOnly = await isOnlyOrganization(reader);
    const rows = await listWaiting(reader, organizationId, isOnly, now);
    const names = rows.flatMap(({ requested_name: requestedName }) => robotNameOf(requestedName) ?? []);
    const robots = await findIdentifiedRobots(reader, organizationId, names);
    const presence = presenceAt(nowMs, context);
    return answerValue({ items: rows.map((row) => enrolmentView(row, robots, presence)) });
  };
}

/** `GET /v1/robot-enrollments/{user_code}`: whoever knows the code may approve it, and sees here what. Wrong codes count as with approvals. */
export function getEnrolment(context: EnrolmentsContext, guesses: GuessLimit): Handler<null> {
  const { store, machine } = context;
  return async ({ principal, path }) => {
    const row = await lookUp(context, guesses, principal, path["user_code"] ?? "");
    if (isAnswer(row)) return row;
    if (row.status !== "pending") return UNKNOWN_CODE;
    const name = robotNameOf(row.requested_name);
    const robots = await findIdentifiedRobots(store.reader, principal.organizationId, name === null ? [] : [name]);
    const presence = presenceAt(machine.clock.wallMs(), context);
    return answerValue(enrolmentView(row, robots, presence));
  };
}

function enrolmentView(row: EnrolmentRow, robots: ReadonlyMap<string, IdentifiedRow>, presence: Presence) {
  const robot = robots.get(robotNameOf(row.requested_name) ?? "");
  const labels: unknown = JSON.parse(row.labels);
  return {
    approval_id: row.id,
    user_code: showUserCode(row.user_code),
    requested_name: row.requested_name,
    region: row.region,
    site: row.site,
    labels,
    robot_type_id: row.robot_type_id,
    configuration_digest: row.configuration_digest,
    address: row.client_address,
    key_fingerprint: keyFingerprint(row.public_key),
    created_at: row.created_at,
    expires_at: row.expires_at,
    robot: robot === undefined ? null : identifiedRobotView(robot, presence),
  };
}
