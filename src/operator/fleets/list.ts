import { operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { Terminal } from "../../platform/terminal.ts";
import type { OperatorCommand } from "../context.ts";
import type { OperatorFlags } from "../flags.ts";
import { NOTHING_LISTED } from "../if-offered.ts";
import type { ListView } from "../lists/columns.ts";
import { compareNames } from "../lists/compare-names.ts";
import type { LoadList } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import { actionsOf, type FleetWithNeeds, loadNeeds, showNeeds, withNeeds } from "./needs.ts";
import { modelOf, reasonOf, statusText } from "./words.ts";

/** `fleets list`: every fleet, why it is not ready, and what to do. */
export const fleetsList: OperatorCommand = (flags, context) => {
  const compare = Object.entries(ORDERS).find(([order]) => order === flags.sort)?.[1];
  const asksNeeds = flags.json !== true || flags.sort === "status";
  return withService(flags, context, (service) => {
    const load: LoadList<FleetWithNeeds> = async () => {
      const result = await service.listAll(operations.listFleets, (fleets) => fleets);
      if (result.kind !== "ok") return result;
      const known = asksNeeds ? await loadNeeds(service) : NOTHING_LISTED;
      if (known.kind !== "ok") return known;
      const records = result.value.records
        .filter(({ value: { status } }) => status === (flags.status ?? status))
        .map(({ value, document }) => ({ value: withNeeds(value, known.value), document }));
      const sorted =
        compare === undefined ? records : records.toSorted((left, right) => compare(left.value, right.value));
      return { ...result, value: { ...result.value, records: sorted } };
    };
    return showList(service, load, fleetsView(context.terminal, flags));
  });
};

/** What `--sort` compares. By status: the most urgent first. By ready: the smallest share first. Otherwise alphabetical. */
const ORDERS: Readonly<Record<string, (left: FleetWithNeeds, right: FleetWithNeeds) => number>> = {
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

function fleetsView(terminal: Terminal, { status }: OperatorFlags): ListView<FleetWithNeeds> {
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
    id: ({ view }) => view.id,
    beside: ({ needs }) => needs,
    empty: status === undefined ? "There are no fleets yet." : `No fleet is ${status}.`,
  };
}
