import { beyondSpec } from "../../api/api.ts";
import type { EnrolmentView } from "../../api/enrolments.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorContext } from "../context.ts";
import { isUnknownOperation } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import type { ListView } from "../lists/columns.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { refuseMissingOperation } from "../refuse.ts";
import { ENROLL_COMMAND } from "./words.ts";

const pendingView: ListView<EnrolmentView> = {
  headers: ["code", "name", "robot", "from", "site", "region", "type", "started", "expires", "key"],
  prose: ["name", "site"],
  spare: ["from", "expires", "site", "started", "region", "type", "key"],
  row: (enrolment, nowMs) => [
    enrolment.user_code,
    enrolment.requested_name,
    enrolment.robot === null ? "new" : `exists, ${enrolment.robot.status}`,
    enrolment.address,
    enrolment.site ?? "",
    enrolment.region ?? "",
    enrolment.robot_type_id ?? "",
    relativeTime(enrolment.created_at, nowMs),
    relativeTime(enrolment.expires_at, nowMs),
    enrolment.key_fingerprint,
  ],
  id: ({ approval_id: id }) => id,
  empty: `No robot waits for approval. A technician starts an enrolment on the robot: ${ENROLL_COMMAND}`,
};

/** `robots pending`: computers that wait for the approval of an operator. */
export async function robotsPending(flags: OperatorFlags, context: OperatorContext): Promise<ExitCode> {
  return withService(flags, context, async (service) => {
    const load = () => service.listAll(beyondSpec.listEnrolments, ({ items }) => items);
    const first = await load();
    if (first.kind !== "ok" && isUnknownOperation(first)) {
      const fix = "the robot shows its code: robot-policy robots approve CODE";
      return refuseMissingOperation("does not list the enrolments that wait", fix, context.terminal);
    }
    return showList(service, load, pendingView, flags, context, first);
  });
}
