import { beyondSpec, operations } from "../../api/api.ts";
import type { IdentifiedRobotView } from "../../api/robot-views.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import { deploymentText, isCurrent, listCurrentDeployments } from "../deployments/find.ts";
import { flagPlaces } from "../files/places.ts";
import { itemsIn } from "../lists/listed.ts";
import { withNamed } from "../operator.ts";
import type { Service } from "../service.ts";
import { findRobot } from "./find.ts";
import { isEnrolled, statusText } from "./words.ts";

/** `robots rename ROBOT NAME`: another name; id, computer, deployments and fleets stay. Asks once at a terminal. */
export const robotsRename: OperatorCommand = async (flags, context, name, newName) => {
  if (newName === undefined) return EXIT.usage;
  return withNamed(findRobot, flags, context, name, (service, { value: robot }) => {
    const { terminal } = service;
    return makeChange(service, {
      row: beyondSpec.renameRobot,
      input: { parameters: { robot: robot.id }, body: { name: newName } },
      explain() {
        if (newName === robot.name) return null;
        terminal.note(`This renames ${robot.name}; its id, computer, deployments and fleets stay.`);
        terminal.note(
          isEnrolled(robot)
            ? "Its agent learns the new name by itself."
            : "Its agent registers under the old name until its configuration has the new one.",
        );
        return "Rename it?";
      },
      missing: ["does not rename robots", "register the robot under the new name: robot-policy robots setup"],
      places: flagPlaces({ name: "NAME" }),
      show({ name: now, id }) {
        const text = now === robot.name ? `${now} has this name already` : `${robot.name} is ${now} now`;
        terminal.print(`${text} (${id}).`);
      },
    });
  });
};

/** `robots remove ROBOT`: its computer loses its credential, its deployment retires, and its name is free. Asks once at a terminal. */
export const robotsRemove: OperatorCommand = (flags, context, name) =>
  withNamed(findRobot, flags, context, name, (service, { value: robot }) =>
    makeChange(service, {
      row: beyondSpec.removeRobot,
      input: { parameters: { robot: robot.id } },
      explain: () => explainRemoval(robot, service),
      missing: ["does not remove robots", "leave it; it does nothing by itself"],
      show: () => service.terminal.print(`${robot.name} is removed (${robot.id}), and its name is free.`),
    }),
  );

async function explainRemoval(robot: IdentifiedRobotView, service: Service): Promise<string> {
  const { terminal } = service;
  const now = service.now();
  const status = isEnrolled(robot) ? ` (${statusText(robot, now)})` : "";
  terminal.note(`This removes ${robot.name}${status} for good; its history and usage stay.`);
  if (isEnrolled(robot)) terminal.note("Its computer loses its credential.");
  const deployments = await listCurrentDeployments(service);
  const current =
    deployments.kind === "ok"
      ? itemsIn(deployments.value).find((each) => each.robot_id === robot.id && isCurrent(each))
      : undefined;
  if (current !== undefined) terminal.note(`It retires ${deploymentText(current, now)}.`);
  const { names, isComplete } = await fleetsOf(robot, service);
  if (names.length > 0)
    terminal.note(
      `It stays a member of ${names.join(", ")}, as a blocked member, until robot-policy fleets reconcile.`,
    );
  if (!isComplete) terminal.note("Not all fleets could be looked through.");
  return "Remove it?";
}

/** Fleets whose members are looked through before the question. */
const FLEETS_MAXIMUM = 50;

async function fleetsOf({ id }: IdentifiedRobotView, service: Service) {
  const fleets = await service.listAll(operations.listFleets, (list) => list);
  if (fleets.kind !== "ok") return { names: [], isComplete: false };
  const items = itemsIn(fleets.value);
  const names: string[] = [];
  let isComplete = items.length <= FLEETS_MAXIMUM;
  for (const fleet of items.slice(0, FLEETS_MAXIMUM)) {
    const details = await service.call(beyondSpec.getFleetDetails, { parameters: { fleet_id: fleet.id } });
    if (details.kind !== "ok") {
      isComplete = false;
      continue;
    }
    if (details.value.value.members.some(({ robot_id: robotId }) => robotId === id)) names.push(fleet.name);
  }
  return { names, isComplete };
}
