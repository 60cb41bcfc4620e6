import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { ENROLL_COMMAND } from "../../views/computers.ts";
import { ENROLMENTS } from "../../views/enrolments.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { CHANGE, CSV, LIST } from "../flags.ts";
import { showList } from "../lists/show-list.ts";
import { tableOf } from "../lists/shown.ts";
import type { Service } from "../service.ts";
import { APPROVE, approve, noteEnrolment, PENDING_REMEDY } from "./approve.ts";

/** Enrolments of robot computers. */
export const enrolmentCommands: readonly OperatorRow[] = [
  command({
    name: "robots pending",
    summary: "list the robot computers that wait for approval",
    flags: { ...CSV, ...LIST },
    examples: ["robot-policy robots pending"],
    run: async (service) => showList(service, await listEnrolments(service), PENDING),
  }),
  command({
    name: "robots approve",
    summary: "approve the computers that show these codes, after showing who asks",
    argument: "[CODE...]",
    names: ["codes"],
    flags: APPROVE,
    examples: [
      "robot-policy robots approve WXYZ-2345 --wait",
      "robot-policy robots approve WXYZ-2345 --name arm-7 --region us-west-2 --site plant-1 --label cell=4 --yes",
      "robot-policy robots approve WXYZ-2345 --replace arm-7",
      "robot-policy robots approve --all --site hall-1",
    ],
    run: (service, flags, _first, _second, codes) => approve(service, flags, codes),
  }),
  command({
    name: "robots deny",
    summary: "deny the computer that shows this code",
    argument: "CODE",
    flags: CHANGE,
    examples: ["robot-policy robots deny WXYZ-2345"],
    run: (service, _flags, code) => deny(service, code),
  }),
];

export function listEnrolments(service: Service) {
  return service.listAll(beyondSpec.listEnrolments, ({ items }) => items);
}

// Nothing tells an organization whether it is the only one.
const NONE_PENDING =
  `${ENROLMENTS.empty}. If the service has several organizations, the list has only computers that name yours; ` +
  `approve others by their code. A technician starts an enrolment on the robot: ${ENROLL_COMMAND}`;

const PENDING = { ...tableOf(ENROLMENTS), empty: NONE_PENDING };

/** The computer that shows the code gets no credential. Shows which one it is, and asks once at a terminal. */
function deny(service: Service, code: string): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: beyondSpec.denyEnrolment,
    input: { body: { user_code: code } },
    async explain() {
      const found = await service.call(beyondSpec.getEnrolment, { parameters: { user_code: code } });
      // Without a view there is nothing to show: the code may be approved already, or the denial reports the failure.
      if (found.kind === "ok") noteEnrolment(found.value.value, terminal, service.now());
      return "Deny it?";
    },
    unknownFix: PENDING_REMEDY,
    show({ user_code: denied, requested_name: name }) {
      terminal.print(`${denied} is denied: the computer that asked to be ${name} is told so.`);
    },
  });
}
