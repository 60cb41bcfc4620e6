import type { EnrolmentView } from "../../api/enrolments.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { noteFacts } from "../lists/show-list.ts";
import { labelsText } from "../robots/words.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";

/** The wording for enrolments in all commands. */

/** What a technician runs on a robot. */
export const ENROLL_COMMAND = "sudo robot-policy-agent enroll";

export const PENDING_REMEDY = "robot-policy robots pending lists the codes that wait; the robot shows its own";

/** Shows who asks, before the operator decides; on stderr, because the decision is the result. */
export function noteEnrolment(enrolment: EnrolmentView, terminal: Terminal, now: Now): void {
  noteFacts(terminal, [
    ["code", enrolment.user_code],
    ["asks for", enrolment.requested_name],
    ["region", enrolment.region ?? "not known"],
    ["site", enrolment.site ?? ""],
    ["type", enrolment.robot_type_id ?? ""],
    ["labels", labelsText(enrolment)],
    ["from", enrolment.address],
    ["key", enrolment.key_fingerprint],
    ["started", timeAgo(enrolment.created_at, now)],
    ["expires", timeUntil(enrolment.expires_at, now)],
  ]);
}
