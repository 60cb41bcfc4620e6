import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import {
  earlierGeneration,
  FLEET_STATES,
  fleetRow,
  fleetRowWith,
  type FleetRow,
  FLEETS,
  memberChanges,
  removeConsequences,
  rollbackConsequences,
  subjectOf,
  updateConsequences,
  updateOutcome,
} from "../../views/fleets.ts";
import { equalText, FLEET_PARTS, unknownText } from "../../views/differences.ts";
import { isWanted } from "../../views/view.ts";
import { flagPlaces } from "../body.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { type Resource, withFound } from "../find.ts";
import { CHANGE, choice, type Given, LIST, text, waiting } from "../flags.ts";
import { keepListed, mapListed } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { inOrderOf, showColumns, tableOf } from "../lists/shown.ts";
import { refuse } from "../refuse.ts";
import { callIfOffered, listIfOffered, NOTHING_LISTED, type Service } from "../service.ts";
import type { Now } from "../times.ts";
import { CREATE, createFleet } from "./create.ts";
import { namesText, showFleet, showNeeds } from "./show.ts";
import { waitForFleet, WAIT_SUMMARY } from "./wait.ts";

const LISTED = {
  status: choice("<status>", "only fleets with this status", FLEET_STATES),
  model: text("<model>", "only fleets with this model", { names: "models" }),
  sort: choice(
    "<column>",
    "sort by this column; status: fleets that need attention first; ready: smallest share of ready robots first",
    ["name", "status", "ready", "model"],
  ),
  ...LIST,
};

/** Fleets of robots that share a model. */
export const fleetCommands: readonly OperatorRow[] = [
  command({
    name: "fleets list",
    aliases: ["ls"],
    summary: "list the fleets, why they are not ready, and what to do",
    flags: LISTED,
    examples: [
      "robot-policy fleets list --sort status",
      "robot-policy fleets list --status blocked",
      "robot-policy fleets list --columns name,action",
    ],
    run: listFleets,
  }),
  command({
    name: "fleets show",
    summary: "show a fleet, by name or id, and why it is not ready",
    argument: "FLEET",
    flags: {},
    examples: ["robot-policy fleets show packing"],
    run: (service, _flags, name) =>
      withFound(service, FLEET, name, (fleet, document) => showOne(service, fleet, document)),
  }),
  command({
    name: "fleets diff",
    summary: "compare the robots of a fleet: what most have, and which have something else",
    argument: "FLEET",
    flags: {},
    examples: ["robot-policy fleets diff packing"],
    run: (service, _flags, name) => withFound(service, FLEET, name, (fleet) => compareMembers(service, fleet)),
  }),
  command({
    name: "fleets create",
    summary: "create a fleet of robots that share a model",
    flags: CREATE,
    examples: [
      "robot-policy fleets create --name packing --model pi0.5 --robot arm-1 --robot arm-2 --wait",
      "robot-policy fleets create --name night --model pi0.5 --site plant-1 --peak 4 --window 2030-01-31T20:00:00Z/2030-02-01T04:00:00Z",
    ],
    run: createFleet,
  }),
  command({
    name: "fleets update-model",
    summary: "update the model of a fleet; the old one serves until the new one is ready",
    argument: "FLEET MODEL",
    flags: { ...waiting(WAIT_SUMMARY), ...CHANGE },
    examples: ["robot-policy fleets update-model packing pi1 --wait --timeout 1h"],
    run: (service, _flags, name, model) =>
      withFound(service, FLEET, name, (fleet) => updateModel(service, fleet, model)),
  }),
  command({
    name: "fleets rollback",
    summary: "go back to the model that a fleet had before; or end an update in progress",
    argument: "FLEET",
    flags: { ...waiting(WAIT_SUMMARY), ...CHANGE },
    examples: ["robot-policy fleets rollback packing --wait"],
    run: (service, _flags, name) => withFound(service, FLEET, name, (fleet) => rollBack(service, fleet)),
  }),
  command({
    name: "fleets reconcile",
    summary: "select the robots of a fleet again: add those that match now, drop removed ones",
    argument: "FLEET",
    flags: CHANGE,
    examples: ["robot-policy fleets reconcile packing"],
    run: (service, _flags, name) => withFound(service, FLEET, name, (fleet) => reconcile(service, fleet)),
  }),
  command({
    name: "fleets remove",
    aliases: ["rm"],
    summary: "delete a fleet; its robots stay",
    argument: "FLEET",
    flags: CHANGE,
    examples: ["robot-policy fleets remove packing"],
    run: (service, _flags, name) => withFound(service, FLEET, name, (fleet) => remove(service, fleet)),
  }),
];

const FLEET: Resource<FleetView> = {
  noun: "fleet",
  list: "fleets list",
  by: "name or id",
  // An id of our own service needs no lookup by name.
  get: { row: beyondSpec.getFleet, parameter: "fleet_id", takes: /^fleet_[0-9a-z]{26}$/ },
  load: (service) => service.listAll(operations.listFleets, (fleets) => fleets),
  idOf: ({ id }) => id,
  namesOf: ({ name }) => [name],
};

async function compareMembers(service: Service, { id }: FleetView): Promise<ExitCode> {
  const { terminal } = service;
  const result = await service.call(beyondSpec.getFleetDifferences, { parameters: { fleet_id: id } });
  if (result.kind !== "ok") return service.failed(result);
  const { value, document } = result.value;
  return service.answer(document, () => {
    terminal.print(equalText(value));
    if (value.parts.length > 0) showColumns(FLEET_PARTS, value.parts, terminal, service.now());
    const unknown = unknownText(value);
    if (unknown !== "") terminal.note(unknown);
  });
}

/** Every fleet, why it is not ready, and what to do. */
async function listFleets(service: Service, flags: Given<typeof LISTED>): Promise<ExitCode> {
  const { terminal } = service;
  const { status, model, sort } = flags;
  const isFiltered = status !== undefined || model !== undefined;
  const table = tableOf(isFiltered ? { ...FLEETS, empty: "No fleet matches" } : FLEETS);
  const view = {
    ...table,
    below: { column: "action", show: (rows: readonly FleetRow[], now: Now) => showNeeds(rows, terminal, now) },
  };
  const result = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (result.kind !== "ok") return showList(service, result, view);
  const asksNeeds = service.flags.json !== true || sort === "status" || status !== undefined;
  const known = asksNeeds
    ? await listIfOffered(service, beyondSpec.listFleetNeeds, (list) => list.items)
    : NOTHING_LISTED;
  if (known.kind !== "ok") return service.failed(known);
  const rows = mapListed(result.value, fleetRowWith(known.value));
  const wanted = keepListed(rows, (row) => isWanted(FLEETS, row, { status, model }, service.now().ms));
  const compare = inOrderOf(FLEETS, sort);
  const records = wanted.records.toSorted((left, right) => compare(left.value, right.value));
  return showList(service, { ...result, value: { ...wanted, records } }, view);
}

/** One fleet, and why it is ready or not. `--json` prints the service's answer with `details` added. */
async function showOne(service: Service, fleet: FleetView, document: unknown): Promise<ExitCode> {
  const { terminal } = service;
  const details = await callIfOffered(service, beyondSpec.getFleetDetails, { parameters: { fleet_id: fleet.id } });
  if (typeof details === "number") return details;
  return service.answer(Object.assign({}, document, { details: details?.document ?? null }), () => {
    showFleet(fleet, details?.value ?? null, terminal, service.now());
    if (details === null) terminal.note("This service does not show members, windows and generations.");
  });
}

/** The current model serves until the new one is ready. */
function updateModel(service: Service, fleet: FleetView, model: string): Promise<ExitCode> {
  return changeModel(service, fleet, model, updateConsequences(fleetRow(fleet, null)), "Update it?");
}

/** Goes back to the model of the generation before, or ends an update in progress. */
async function rollBack(service: Service, fleet: FleetView): Promise<ExitCode> {
  const { terminal } = service;
  const { id, name } = fleet;
  const details = await service.call(beyondSpec.getFleetDetails, { parameters: { fleet_id: id } });
  if (details.kind !== "ok") return service.failed(details);
  const earlier = earlierGeneration(fleet, details.value.value);
  if (earlier === null) {
    const what = `${name} had no other model before`;
    const fix = `robot-policy fleets update-model ${shellWord(name)} MODEL changes its model`;
    return refuse({ code: "no-earlier-model", what, fix }, EXIT.rejected, terminal);
  }
  const model = await service.call(operations.getModel, { parameters: { slug: earlier.subject } });
  const subject = subjectOf(earlier, model.kind === "ok" ? model.value.value : null);
  return changeModel(service, fleet, subject, rollbackConsequences(fleet, earlier), "Roll it back?");
}

function changeModel(
  service: Service,
  fleet: FleetView,
  subject: string,
  consequences: readonly string[],
  question: string,
): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: operations.updateFleetModel,
    input: { parameters: { fleet_id: fleet.id }, body: { subject } },
    explain() {
      for (const text of consequences) terminal.note(text);
      return question;
    },
    places: flagPlaces({}, { subject: "MODEL" }),
    begun: (asked) => terminal.note(updateOutcome(asked, subject, fleet)),
    wait: (asked) => waitForFleet(service, asked),
    show: (updated) => showFleet(updated, null, terminal, service.now()),
  });
}

/** Its selector once more, or without robots that were removed. Says who joins and leaves, and asks at a terminal. */
async function reconcile(service: Service, fleet: FleetView): Promise<ExitCode> {
  const { terminal } = service;
  const parameters = { fleet_id: fleet.id };
  const previewed = await service.call(beyondSpec.previewReconcile, { parameters });
  if (previewed.kind !== "ok") return service.failed(previewed);
  const { groups, after } = memberChanges(previewed.value.value, fleet);
  const isChange = groups.length > 0;
  if (service.flags.json !== true && isChange) {
    for (const { title, robots } of groups) terminal.note(`${title}: ${namesText(robots)}`);
    terminal.note(after);
  }
  return makeChange(service, {
    row: beyondSpec.reconcileFleet,
    input: { parameters },
    explain: () => (isChange ? "Reconcile it?" : null),
    show(reconciled) {
      if (!isChange) terminal.note(`${fleet.name} has these members already; nothing is changed.`);
      showFleet(reconciled, null, terminal, service.now());
    },
  });
}

/** Its robots stay, and no capacity is kept for it. */
function remove(service: Service, fleet: FleetView): Promise<ExitCode> {
  const { terminal } = service;
  const { id, name, status } = fleet;
  return makeChange(service, {
    row: beyondSpec.removeFleet,
    input: { parameters: { fleet_id: id } },
    explain() {
      terminal.note(`This deletes the fleet ${name} (${status}).`);
      terminal.note(removeConsequences(fleet));
      return "Delete it?";
    },
    show: () => terminal.print(`The fleet ${name} is deleted (${id}), and its name is free.`),
  });
}
