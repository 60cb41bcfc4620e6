import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import { EXIT } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import { withNamed } from "../operator.ts";
import { waitTimeout } from "../wait.ts";
import { findFleet } from "./find.ts";
import { showFleet } from "./show.ts";
import { endOfCreation, endOfUpdate, waitForFleet } from "./wait.ts";
import { countsText, modelOf, robotsText } from "./words.ts";

/** `fleets update-model FLEET MODEL`: the current model serves until the new one is ready. */
export const fleetsUpdateModel: OperatorCommand = async (flags, context, name, model) => {
  const { terminal } = context;
  const timeoutMs = waitTimeout(flags, terminal);
  if (model === undefined || timeoutMs === null) return EXIT.usage;
  return withNamed(findFleet, flags, context, name, (service, { value: fleet }) =>
    makeChange(service, {
      row: operations.updateFleetModel,
      input: { parameters: { fleet_id: fleet.id }, body: { subject: model } },
      explain() {
        const { update, robots } = fleet;
        terminal.note(`This updates ${fleet.name}, which uses ${modelOf(fleet)}: ${countsText(robots)}.`);
        if (update !== null && update !== undefined) terminal.note(`It replaces the update to ${update.subject}.`);
        return "Update it?";
      },
      places: flagPlaces({ subject: "MODEL" }),
      begun: (asked) => terminal.note(startedText(asked, model, fleet)),
      wait: (asked) => waitForFleet(service, asked, endOf(asked.value), timeoutMs),
      show: (updated) => showFleet(updated, null, terminal, service.now()),
    }),
  );
};

function startedText(asked: FleetView, model: string, before: FleetView): string {
  const { name, update, active_model: activeModel } = asked;
  const now = modelOf(asked);
  if (update !== null && update !== undefined) {
    // The subject may be the new one already, and the active model may never have served.
    const serves = activeModel?.status === "active" ? `; ${activeModel.subject} serves until that is ready` : "";
    return `${name} is being updated to ${model}${serves}.`;
  }
  if (now !== modelOf(before)) return `${name} uses ${now} now.`;
  const ended = before.update?.subject;
  if (ended !== undefined) return `${name} keeps ${now}; the update to ${ended} is ended.`;
  return `${name} uses ${now} already; there is nothing to update.`;
}

/** The answer names the update's generation, if there is an update; otherwise the fleet has the model already. */
function endOf({ update, active_model: activeModel }: FleetView) {
  const generationId = update?.generation_id ?? activeModel?.generation_id;
  return generationId === undefined ? endOfCreation : endOfUpdate(generationId);
}

/** `fleets remove FLEET`: its robots stay, and no capacity is kept for it. Asks once at a terminal. */
export const fleetsRemove: OperatorCommand = (flags, context, name) =>
  withNamed(findFleet, flags, context, name, (service, { value: fleet }) => {
    const { terminal } = service;
    return makeChange(service, {
      row: beyondSpec.removeFleet,
      input: { parameters: { fleet_id: fleet.id } },
      explain() {
        const { name, status, robots } = fleet;
        terminal.note(`This deletes the fleet ${name} (${robotsText(robots.registered)}, ${status}).`);
        terminal.note("Its robots and their deployments stay, and no capacity is kept ready for them any more.");
        return "Delete it?";
      },
      missing: ["does not delete fleets", "ask its administrator"],
      show: () => terminal.print(`The fleet ${fleet.name} is deleted (${fleet.id}), and its name is free.`),
    });
  });
