/** `robots history` and `robots diff`: what changed at each registration, and how two robots differ. */
import { beyondSpec } from "../../api/api.ts";
import type { Difference, Differences } from "../../api/differences.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { changeOf, detailsOf, reservationOf, subjectOf } from "../../views/differences.ts";
import { REGISTRATIONS } from "../../views/robots.ts";
import { command, type OperatorRow } from "../command.ts";
import { withFound } from "../find.ts";
import { type Given, text } from "../flags.ts";
import { showColumns } from "../lists/shown.ts";
import type { Service } from "../service.ts";
import { timeAgo } from "../times.ts";
import { ROBOT } from "./find.ts";

const DIFF = {
  registration: text("<id>", "this registration of the robot, as robots history has it; by default the last one"),
};

export const differenceCommands: readonly OperatorRow[] = [
  command({
    name: "robots history",
    summary: "show what each registration of a robot changed, newest first",
    argument: "ROBOT",
    flags: {},
    examples: ["robot-policy robots history cell-4"],
    run: (service, _flags, name) => withFound(service, ROBOT, name, (robot) => showHistory(service, robot)),
  }),
  command({
    name: "robots diff",
    summary: "compare a robot with its registration before, or with another robot",
    argument: "ROBOT [OTHER]",
    flags: DIFF,
    examples: [
      "robot-policy robots diff cell-4",
      "robot-policy robots diff cell-4 cell-7",
      "robot-policy robots diff cell-4 --registration aud_01m7yrh0gje009gc9hqdzhd50w",
    ],
    run: (service, flags, name, other) =>
      withFound(service, ROBOT, name, (robot) =>
        other === ""
          ? compare(service, robot, flags)
          : withFound(service, ROBOT, other, (second) => compare(service, second, flags, robot)),
      ),
  }),
];

async function showHistory(service: Service, { id }: IdentifiedRobotView): Promise<ExitCode> {
  const result = await service.call(beyondSpec.getRobotHistory, { parameters: { robot: id } });
  if (result.kind !== "ok") return service.failed(result);
  const { value, document } = result.value;
  return service.answer(document, () => showColumns(REGISTRATIONS, value.items, service.terminal, service.now()));
}

/** @param before the other robot; without it, the registration before. */
async function compare(
  service: Service,
  { id }: IdentifiedRobotView,
  { registration }: Given<typeof DIFF>,
  before?: IdentifiedRobotView,
): Promise<ExitCode> {
  const query = {
    ...(registration === undefined ? {} : { registration }),
    ...(before === undefined ? {} : { against: before.id }),
  };
  const result = await service.call(beyondSpec.getRobotDifferences, { parameters: { robot: id }, query });
  if (result.kind !== "ok") return service.failed(result, { unknownFix: "robots history shows the registrations" });
  const { value, document } = result.value;
  return service.answer(document, () => showDifferences(value, service));
}

function showDifferences(answer: Differences, service: Service): void {
  const { terminal } = service;
  const { before, after, differences } = answer;
  const when = ({ robot, at }: Differences["after"]) => `${robot}, ${timeAgo(at, service.now())}`;
  if (before !== null) terminal.print(`${terminal.style("bold", when(after))}, against ${when(before)}:`);
  const reservation = reservationOf(answer);
  if (reservation !== "") terminal.note(reservation);
  if (before !== null && differences.length === 0) terminal.print("Nothing differs.");
  for (const difference of differences) showDifference(difference, terminal);
}

function showDifference(difference: Difference, terminal: Terminal): void {
  terminal.sentence(`${terminal.style("bold", subjectOf(difference))}  ${changeOf(difference)}`);
  for (const detail of detailsOf(difference)) terminal.sentence(detail, "  ", "    ");
}
