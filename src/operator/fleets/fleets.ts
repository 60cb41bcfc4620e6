import { beyondSpec, operations } from "../../api/api.ts";
import type { FleetMemberChanges } from "../../api/fleet-details.ts";
import { FLEET_STATUSES, type FleetView } from "../../api/fleets.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { flagPlaces } from "../body.ts";
import { makeChange } from "../change.ts";
import { command, type OperatorRow } from "../command.ts";
import { find } from "../find.ts";
import { CHANGE, choice, type Given, LIST, waiting } from "../flags.ts";
import { compareNames, type ListView, showList } from "../lists/show-list.ts";
import { callIfOffered, NOTHING_LISTED, type Service } from "../service.ts";
import { CREATE, createFleet } from "./create.ts";
import { FLEET } from "./find.ts";
import { actionsOf, type FleetWithNeeds, loadNeeds, showNeeds, withNeeds } from "./needs.ts";
import { showFleet } from "./show.ts";
import { endOfCreation, endOfUpdate, waitForFleet, WAIT_SUMMARY } from "./wait.ts";
import { countsText, modelOf, namesText, reasonOf, robotsText, statusText } from "./words.ts";

const LISTED = {
  status: choice("<status>", "only fleets with this status", FLEET_STATUSES),
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
    run: (service, _flags, name) => showOne(service, name),
  }),
  command({
    name: "fleets create",
    summary: "create a fleet of robots that share a model",
    flags: CREATE,
    examples: [
      "robot-policy fleets create --name packing --model pi0.5 --robot arm-1 --robot arm-2 --wait",
      "robot-policy fleets create --name night --model pi0.5 --site plant-1 --peak 4 --window 2030-01-31T20:00:00Z/2030-02-01T04:00:00Z",
      "robot-policy fleets create --from fleet.yaml --dry-run",
    ],
    run: createFleet,
  }),
  command({
    name: "fleets update-model",
    summary: "update the model of a fleet; the old one serves until the new one is ready",
    argument: "FLEET MODEL",
    flags: { ...waiting(WAIT_SUMMARY), ...CHANGE },
    examples: ["robot-policy fleets update-model packing pi1 --wait --timeout 1h"],
    run: (service, _flags, name, model) => withFleet(service, name, (fleet) => updateModel(service, fleet, model)),
  }),
  command({
    name: "fleets reconcile",
    summary: "select the robots of a fleet again: its selector once more, or without robots that were removed",
    argument: "FLEET",
    flags: CHANGE,
    examples: ["robot-policy fleets reconcile packing"],
    run: (service, _flags, name) => withFleet(service, name, (fleet) => reconcile(service, fleet)),
  }),
  command({
    name: "fleets remove",
    aliases: ["rm"],
    summary: "delete a fleet; its robots stay",
    argument: "FLEET",
    flags: CHANGE,
    examples: ["robot-policy fleets remove packing"],
    run: (service, _flags, name) => withFleet(service, name, (fleet) => remove(service, fleet)),
  }),
];

async function withFleet(
  service: Service,
  name: string,
  act: (fleet: FleetView) => Promise<ExitCode>,
): Promise<ExitCode> {
  const found = await find(service, FLEET, name);
  return typeof found === "number" ? found : act(found.value);
}

/** Every fleet, why it is not ready, and what to do. */
async function listFleets(service: Service, flags: Given<typeof LISTED>): Promise<ExitCode> {
  const view = fleetsView(service.terminal, flags);
  const result = await service.listAll(operations.listFleets, (fleets) => fleets);
  if (result.kind !== "ok") return showList(service, result, view);
  const asksNeeds = service.flags.json !== true || flags.sort === "status";
  const known = asksNeeds ? await loadNeeds(service) : NOTHING_LISTED;
  if (known.kind !== "ok") return service.failed(known);
  const records = result.value.records
    .filter(({ value: { status } }) => status === (flags.status ?? status))
    .map(({ value, document }) => ({ value: withNeeds(value, known.value), document }));
  const compare = flags.sort === undefined ? () => 0 : ORDERS[flags.sort];
  const sorted = records.toSorted((left, right) => compare(left.value, right.value));
  return showList(service, { ...result, value: { ...result.value, records: sorted } }, view);
}

type Order = NonNullable<Given<typeof LISTED>["sort"]>;

/** What `--sort` compares. By status: the most urgent first. By ready: the smallest share first. Otherwise alphabetical. */
const ORDERS: Readonly<Record<Order, (left: FleetWithNeeds, right: FleetWithNeeds) => number>> = {
  name: (left, right) => compareNames(left.view.name, right.view.name),
  status: (left, right) => urgencyOf(left) - urgencyOf(right),
  ready: (left, right) => readyShare(left.view) - readyShare(right.view),
  model: (left, right) => compareNames(modelOf(left.view), modelOf(right.view)),
};

function readyShare({ robots }: FleetView): number {
  return robots.registered === 0 ? 1 : readyIn(robots) / robots.registered;
}

/** Active robots count as ready too. */
function readyIn({ ready, active }: FleetView["robots"]): number {
  return ready + active;
}

const MOST_URGENT_FIRST = [
  "blocked",
  "degraded",
  "preparing",
  "ready",
] as const satisfies readonly FleetView["status"][];

function urgencyOf({ view, needs }: FleetWithNeeds): number {
  const rank = MOST_URGENT_FIRST.indexOf(view.status);
  return needs.length > 0 ? rank : rank + MOST_URGENT_FIRST.length;
}

function fleetsView(terminal: Terminal, { status }: Given<typeof LISTED>): ListView<FleetWithNeeds> {
  return {
    headers: ["name", "status", "ready", "model", "reason", "action", "id"],
    prose: ["name", "reason", "action", "model"],
    spare: ["action", "id"],
    row: (fleet, now) => [
      fleet.view.name,
      statusText(fleet.view, terminal),
      `${readyIn(fleet.view.robots)}/${fleet.view.robots.registered}`,
      modelOf(fleet.view),
      reasonOf(fleet.view, fleet.needs, now),
      actionsOf(fleet),
      fleet.view.id,
    ],
    below: { column: "action", show: (fleets, now) => showNeeds(fleets, terminal, now) },
    empty: status === undefined ? "There are no fleets yet." : `No fleet is ${status}.`,
  };
}

/** One fleet, and why it is ready or not. `--json` prints the service's answer with `details` added. */
async function showOne(service: Service, name: string): Promise<ExitCode> {
  const { terminal } = service;
  const found = await find(service, FLEET, name);
  if (typeof found === "number") return found;
  const { value: fleet, document } = found;
  const details = await callIfOffered(service, beyondSpec.getFleetDetails, { parameters: { fleet_id: fleet.id } });
  if (typeof details === "number") return details;
  return service.answer(Object.assign({}, document, { details: details?.document ?? null }), () => {
    showFleet(fleet, details?.value ?? null, terminal, service.now());
    if (details === null) terminal.note("This service does not show members, windows and generations.");
  });
}

/** The current model serves until the new one is ready. */
function updateModel(service: Service, fleet: FleetView, model: string): Promise<ExitCode> {
  const { terminal } = service;
  return makeChange(service, {
    row: operations.updateFleetModel,
    input: { parameters: { fleet_id: fleet.id }, body: { subject: model } },
    explain() {
      const { update, robots } = fleet;
      terminal.note(`This updates ${fleet.name}, which uses ${modelOf(fleet)}: ${countsText(robots)}.`);
      if (update !== null && update !== undefined) terminal.note(`It replaces the update to ${update.subject}.`);
      return "Update it?";
    },
    places: flagPlaces({}, { subject: "MODEL" }),
    begun: (asked) => terminal.note(startedText(asked, model, fleet)),
    wait: (asked) => waitForFleet(service, asked, endOf(asked.value)),
    show: (updated) => showFleet(updated, null, terminal, service.now()),
  });
}

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

/** Its selector once more, or without robots that were removed. Says who joins and leaves, and asks at a terminal. */
async function reconcile(service: Service, fleet: FleetView): Promise<ExitCode> {
  const { terminal } = service;
  const parameters = { fleet_id: fleet.id };
  const previewed = await service.call(beyondSpec.previewReconcile, { parameters });
  if (previewed.kind !== "ok") return service.failed(previewed);
  const changes = previewed.value.value;
  const isChange = changes.joining.length + changes.leaving.length > 0;
  if (service.flags.json !== true && isChange) noteMemberChanges(fleet, changes, terminal);
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

function noteMemberChanges(fleet: FleetView, changes: FleetMemberChanges, terminal: Terminal): void {
  const { joining, leaving, registered, peak_active_robots: peak } = changes;
  terminal.note(`${fleet.name} has ${robotsText(fleet.robots.registered)} now, and ${registered} afterwards.`);
  if (joining.length > 0) terminal.note(`join: ${namesText(joining)}`);
  if (leaving.length > 0) terminal.note(`leave: ${namesText(leaving)}`);
  if (peak !== fleet.peak_active_robots) {
    terminal.note(`At most ${peak} may be active at once, instead of ${fleet.peak_active_robots}.`);
  }
}

/** Its robots stay, and no capacity is kept for it. */
function remove(service: Service, fleet: FleetView): Promise<ExitCode> {
  const { terminal } = service;
  const { id, name, status, robots } = fleet;
  return makeChange(service, {
    row: beyondSpec.removeFleet,
    input: { parameters: { fleet_id: id } },
    explain() {
      terminal.note(`This deletes the fleet ${name} (${robotsText(robots.registered)}, ${status}).`);
      terminal.note("Its robots and their deployments stay, and no capacity is kept ready for them any more.");
      return "Delete it?";
    },
    show: () => terminal.print(`The fleet ${name} is deleted (${id}), and its name is free.`),
  });
}
