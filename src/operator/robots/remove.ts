import { beyondSpec, operations } from "../../api/api.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import { isCurrent } from "../deployments/find.ts";
import { deploymentText } from "../deployments/words.ts";
import type { OperatorFlags } from "../flags.ts";
import { itemsIn } from "../lists/listed.ts";
import type { Service } from "../service.ts";
import { withNamed } from "../with-named.ts";
import { findRobot } from "./find.ts";
import { isEnrolled, statusText } from "./words.ts";

/** `robots remove ROBOT`: its computer loses its credential, its deployment retires, and its name is free. Asks once at a terminal. */
export async function robotsRemove(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  return withNamed(findRobot, flags, context, name, (service, { value: robot }) =>
    makeConfirmedChange(
      service,
      {
        row: beyondSpec.removeRobot,
        input: { parameters: { robot: robot.id } },
        explain: () => explainRemoval(robot, service, context),
        missing: ["does not remove robots", "leave it; it does nothing by itself"],
        done: () => `${robot.name} is removed (${robot.id}), and its name is free.`,
      },
      flags,
      context,
    ),
  );
}

async function explainRemoval(
  robot: IdentifiedRobotView,
  service: Service,
  { terminal, machine }: OperatorContext,
): Promise<string> {
  const nowMs = machine.clock.wallMs();
  const status = isEnrolled(robot) ? ` (${statusText(robot, nowMs)})` : "";
  terminal.note(`This removes ${robot.name}${status} for good; its history and usage stay.`);
  if (isEnrolled(robot)) terminal.note("Its computer loses its credential.");
  const deployments = await service.listAll(beyondSpec.listDeployments, ({ items }) => items);
  const current =
    deployments.kind === "ok"
      ? itemsIn(deployments.value).find((each) => each.robot_id === robot.id && isCurrent(each))
      : undefined;
  if (current !== undefined) terminal.note(`It retires ${deploymentText(current, nowMs)}.`);
  const { stays, leaves, isComplete } = await fleetsOf(robot, service);
  if (stays.length > 0) terminal.note(`It stays a member of ${stays.join(", ")}, as one that is blocked.`);
  if (leaves.length > 0) terminal.note(`It leaves ${leaves.join(", ")}.`);
  if (!isComplete) terminal.note("Not all fleets could be looked through.");
  return "Remove it?";
}

/** Fleets whose members are looked through before the question. */
const FLEETS_MAXIMUM = 50;

async function fleetsOf({ id }: IdentifiedRobotView, service: Service) {
  const fleets = await service.listAll(operations.listFleets, (list) => list);
  if (fleets.kind !== "ok") return { stays: [], leaves: [], isComplete: false };
  const items = itemsIn(fleets.value);
  const stays: string[] = [];
  const leaves: string[] = [];
  let isComplete = items.length <= FLEETS_MAXIMUM;
  for (const fleet of items.slice(0, FLEETS_MAXIMUM)) {
    const details = await service.call(beyondSpec.getFleetDetails, { parameters: { fleet_id: fleet.id } });
    if (details.kind !== "ok") {
      isComplete = false;
      continue;
    }
    const { members, selection } = details.value.value;
    if (!members.some(({ robot_id: robotId }) => robotId === id)) continue;
    (selection.membership === "follow" ? leaves : stays).push(fleet.name);
  }
  return { stays, leaves, isComplete };
}
