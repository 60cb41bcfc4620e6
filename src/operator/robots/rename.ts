import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { withNamed } from "../with-named.ts";
import { findRobot } from "./find.ts";

const PLACES = flagPlaces({ name: "NAME" });

/** `robots rename ROBOT NAME`: another name; id, computer, deployments and fleets stay. Asks once at a terminal. */
export async function robotsRename(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  newName: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  if (newName === undefined) return EXIT.usage;
  return withNamed(findRobot, flags, context, name, (service, { value: robot }) =>
    makeConfirmedChange(
      service,
      {
        row: beyondSpec.renameRobot,
        input: { parameters: { robot: robot.id }, body: { name: newName } },
        explain() {
          terminal.note(`This renames ${robot.name}; its id, computer, deployments and fleets stay.`);
          terminal.note("Its agent registers under the old name until its configuration has the new one.");
          return "Rename it?";
        },
        missing: ["does not rename robots", "register the robot under the new name: robot-policy robots setup"],
        done: (renamed) => `${robot.name} is ${renamed.name} now (${renamed.id}).`,
        places: PLACES,
      },
      flags,
      context,
    ),
  );
}
