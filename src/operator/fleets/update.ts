import { beyondSpec } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import { MEMBERSHIPS } from "../../api/fleets.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { makeConfirmedChange } from "../confirmed-change.ts";
import type { OperatorContext } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { refuseUsage } from "../refuse.ts";
import { withNamed } from "../with-named.ts";
import { findFleet } from "./find.ts";

const PLACES = flagPlaces({ membership: "--membership" });

/** `fleets update FLEET --membership follow|snapshot`: whether the fleet follows its selector. Asks once at a terminal. */
export async function fleetsUpdate(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal } = context;
  const membership = MEMBERSHIPS.find((each) => each === flags.membership);
  if (membership === undefined) {
    return refuseUsage("there is nothing to change", "give --membership follow or --membership snapshot", terminal);
  }
  return withNamed(findFleet, flags, context, name, (service, { value: fleet }) => {
    const effect = effectOf(fleet, membership);
    return makeConfirmedChange(
      service,
      {
        row: beyondSpec.changeFleet,
        input: { parameters: { fleet_id: fleet.id }, body: { membership } },
        explain() {
          terminal.note(effect);
          return "Change it?";
        },
        missing: ["does not change who belongs to a fleet", "create the fleet again"],
        done: () => effect,
        places: PLACES,
      },
      flags,
      context,
    );
  });
}

function effectOf({ name, robots: { registered } }: FleetView, membership: (typeof MEMBERSHIPS)[number]): string {
  return membership === "follow"
    ? `Robots join ${name} as they come to match its selector, and leave as they no longer do.`
    : `${name} keeps the ${registered === 1 ? "robot" : `${registered} robots`} that it has.`;
}
