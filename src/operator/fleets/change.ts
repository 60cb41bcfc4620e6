import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetMemberChanges } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import { EXIT, type Terminal } from "../../platform/terminal.ts";
import { makeChange } from "../change.ts";
import type { OperatorCommand } from "../context.ts";
import { flagPlaces } from "../files/places.ts";
import { withNamed } from "../operator.ts";
import { waitTimeout } from "../wait.ts";
import { findFleet } from "./find.ts";
import { showFleet } from "./show.ts";
import { endOfCreation, endOfUpdate, waitForFleet } from "./wait.ts";
import { countsText, modelOf, namesText, robotsText } from "./words.ts";

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

const NO_RECONCILE = ["does not select the members of a fleet again", "create the fleet again"] as const;

/** `fleets reconcile FLEET`: its selector once more, or without robots that were removed. Says who joins and leaves, and asks at a terminal. */
export const fleetsReconcile: OperatorCommand = (flags, context, name) =>
  withNamed(findFleet, flags, context, name, async (service, { value: fleet }) => {
    const { terminal } = service;
    const parameters = { fleet_id: fleet.id };
    const previewed = await service.call(beyondSpec.previewReconcile, { parameters });
    if (previewed.kind !== "ok") return service.failed(previewed, { missing: NO_RECONCILE });
    const changes = previewed.value.value;
    const isChange = changes.joining.length + changes.leaving.length > 0;
    if (flags.json !== true && isChange) noteMemberChanges(fleet, changes, terminal);
    return makeChange(service, {
      row: beyondSpec.reconcileFleet,
      input: { parameters },
      explain: () => (isChange ? "Reconcile it?" : null),
      missing: NO_RECONCILE,
      show(reconciled) {
        if (!isChange) terminal.note(`${fleet.name} has these members already; nothing is changed.`);
        showFleet(reconciled, null, terminal, service.now());
      },
    });
  });

function noteMemberChanges(fleet: FleetView, changes: FleetMemberChanges, terminal: Terminal): void {
  const { joining, leaving, registered, peak_active_robots: peak } = changes;
  terminal.note(`${fleet.name} has ${robotsText(fleet.robots.registered)} now, and ${registered} afterwards.`);
  if (joining.length > 0) terminal.note(`join: ${namesText(joining)}`);
  if (leaving.length > 0) terminal.note(`leave: ${namesText(leaving)}`);
  if (peak !== fleet.peak_active_robots) {
    terminal.note(`At most ${peak} may be active at once, instead of ${fleet.peak_active_robots}.`);
  }
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
