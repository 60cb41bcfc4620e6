import { beyondSpec } from "../../api/api.ts";
import type { EnrolmentView } from "../../api/enrolments.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import type { ListView } from "../lists/columns.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { refusePathParameter } from "../refuse.ts";
import { presenceWord } from "../robots/words.ts";
import { ENROLL_COMMAND, noteEnrolment, PENDING_REMEDY } from "./words.ts";
import { timeAgo, timeUntil } from "../times.ts";

const pendingView: ListView<EnrolmentView> = {
  headers: ["code", "name", "robot", "from", "site", "region", "type", "started", "expires", "key"],
  prose: ["name", "site"],
  spare: ["from", "expires", "site", "started", "region", "type", "key"],
  row: (enrolment, now) => [
    enrolment.user_code,
    enrolment.requested_name,
    enrolment.robot === null ? "new" : ["exists", presenceWord(enrolment.robot)].filter(Boolean).join(", "),
    enrolment.address,
    enrolment.site ?? "",
    enrolment.region ?? "",
    enrolment.robot_type_id ?? "",
    timeAgo(enrolment.created_at, now),
    timeUntil(enrolment.expires_at, now),
    enrolment.key_fingerprint,
  ],
  id: ({ approval_id: id }) => id,
  // Nothing tells an organization whether it is the only one.
  empty:
    "No robot waits for approval. If the service has several organizations, the list has only computers that name yours; " +
    `approve others by their code. A technician starts an enrolment on the robot: ${ENROLL_COMMAND}`,
};

/** `robots pending`: computers that wait for the approval of an operator. */
export const robotsPending: OperatorCommand = (flags, context) =>
  withService(flags, context, (service) => {
    const load = () => service.listAll(beyondSpec.listEnrolments, ({ items }) => items);
    const fix = "the robot shows its code: robot-policy robots approve CODE";
    return showList(service, load, pendingView, { missing: ["does not list the enrolments that wait", fix] });
  });

/** `robots deny CODE`: the computer that shows the code gets no credential. Shows which one it is, and asks once at a terminal. */
export const robotsDeny: OperatorCommand = async (flags, context, code) => {
  const { terminal } = context;
  if (code === undefined || refusePathParameter(code, terminal)) return EXIT.usage;
  return withService(flags, context, (service) =>
    makeChange(service, {
      row: beyondSpec.denyEnrolment,
      input: { body: { user_code: code } },
      async explain() {
        const found = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
        // Without a view there is nothing to show: the code may be approved already, or the denial reports the failure.
        if (found.kind === "ok") noteEnrolment(found.value.value, terminal, service.now());
        return "Deny it?";
      },
      missing: ["does not deny enrolments", "do not approve the code: it expires within minutes"],
      unknownFix: PENDING_REMEDY,
      show({ user_code: denied, requested_name: name }) {
        terminal.print(`${denied} is denied: the computer that asked to be ${name} is told so.`);
      },
    }),
  );
};
