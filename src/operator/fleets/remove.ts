import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import { withNamed } from "../with-named.ts";
import { findFleet } from "./find.ts";

/** `fleets remove FLEET`: its robots stay, and no capacity is kept for it. Asks once at a terminal. */
export async function fleetsRemove(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  return withNamed(findFleet, flags, context, name, (service, { value: fleet }) =>
    makeConfirmedChange(
      service,
      {
        row: beyondSpec.removeFleet,
        input: { parameters: { fleet_id: fleet.id } },
        explain() {
          const { registered: count } = fleet.robots;
          terminal.note(
            `This deletes the fleet ${fleet.name} (${count} ${count === 1 ? "robot" : "robots"}, ${fleet.status}).`,
          );
          terminal.note("Its robots and their deployments stay, and no capacity is kept ready for them any more.");
          return "Delete it?";
        },
        missing: ["does not delete fleets", "ask its administrator"],
        done: () => `The fleet ${fleet.name} is deleted (${fleet.id}), and its name is free.`,
      },
      flags,
      context,
    ),
  );
}
