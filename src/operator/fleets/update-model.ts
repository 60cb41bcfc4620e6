import { operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { ExitCode } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import { confirmationPrompt, refusedBy } from "../confirm.ts";
import type { OperatorContext } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import type { OperatorFlags } from "../flags.ts";
import { withService } from "../operator.ts";
import { waitTimeout } from "../wait.ts";
import { findFleet } from "./find.ts";
import { showFleet } from "./show-fleet.ts";
import { endOfCreation, endOfUpdate, waitForFleet } from "./wait.ts";
import { countsText } from "./words.ts";

const PLACES = flagPlaces({ subject: "MODEL" });

/** `fleets update-model FLEET MODEL`: the current model serves until the new one is ready. */
export async function fleetsUpdateModel(
  flags: OperatorFlags,
  context: OperatorContext,
  name: string | undefined,
  model: string | undefined,
): Promise<ExitCode> {
  const { terminal, machine } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  if (name === undefined || model === undefined || timeoutMs === null) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const found = await findFleet(service, name, terminal);
    if (typeof found === "number") return found;
    const body = { subject: model };
    const input = { parameters: { fleet_id: found.value.id }, body };
    if (flags.dryRun === true) return service.showRequest(operations.updateFleetModel, input, flags.json === true);
    const refused = await refusedUpdate(found.value, flags, context);
    if (refused !== null) return refused;
    const result = await service.call(operations.updateFleetModel, input);
    if (result.kind !== "ok") return service.failed(result, { body, places: PLACES });
    const asked = result.value;
    if (flags.json !== true) terminal.note(startedText(asked.value, model));
    const waited =
      flags.wait === true
        ? await waitForFleet(service, asked, endOf(asked.value), timeoutMs, context)
        : { exitCode: EXIT.ok, last: asked };
    if (flags.json === true) terminal.json(waited.last.document);
    else showFleet(waited.last.value, null, terminal, machine.clock.wallMs());
    return waited.exitCode;
  });
}

/** Null where the operator agrees, or is not asked. */
async function refusedUpdate(
  { name, subject, robots, update }: FleetView,
  flags: OperatorFlags,
  context: OperatorContext,
): Promise<ExitCode | null> {
  const prompt = confirmationPrompt(flags, context);
  if (prompt === null) return null;
  const { terminal } = context;
  terminal.note(`This updates ${name}, which uses ${subject}: ${countsText(robots)}.`);
  if (update !== null && update !== undefined) terminal.note(`It replaces the update to ${update.subject}.`);
  return refusedBy(prompt, "Update it?", terminal);
}

function startedText({ name, update, subject }: FleetView, model: string): string {
  if (update === null || update === undefined) return `${name} uses ${subject} already; there is nothing to update.`;
  return `${name} is being updated to ${model}; ${subject} serves until that is ready.`;
}

/** The answer names the update's generation, if there is an update; otherwise the fleet has the model already. */
function endOf({ update, active_model: activeModel }: FleetView) {
  const generationId = update?.generation_id ?? activeModel?.generation_id;
  return generationId === undefined ? endOfCreation : endOfUpdate(generationId);
}
