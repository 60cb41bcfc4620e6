import { beyondSpec } from "../../api/api.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import { callIfOffered } from "../if-offered.ts";
import { withService } from "../operator.ts";
import { findFleet } from "./find.ts";
import { showFleet } from "./show-fleet.ts";

/** `fleets show FLEET`: one fleet, and why it is ready or not. `--json` prints the service's answer with `details` added. */
export async function fleetsShow(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  if (name === undefined) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const found = await findFleet(service, name, terminal);
    if (typeof found === "number") return found;
    const input = { parameters: { fleet_id: found.value.id } };
    const details = await callIfOffered(service, beyondSpec.getFleetDetails, input);
    if (typeof details === "number") return details;
    if (flags.json === true) {
      terminal.json(Object.assign({}, found.document, { details: details?.document ?? null }));
      return EXIT.ok;
    }
    showFleet(found.value, details?.value ?? null, terminal, machine.clock.wallMs());
    if (details === null) terminal.note("This service does not show members, windows and generations.");
    return EXIT.ok;
  });
}
