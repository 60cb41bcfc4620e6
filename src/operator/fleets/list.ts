import { operations } from "../../api/api.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import type { OperatorContext } from "../context.ts";
import type { ListView } from "../lists/columns.ts";
import type { ListFlags } from "../lists/flags.ts";
import type { Listed, ListedRecord } from "../lists/listed.ts";
import { showList } from "../lists/show-list.ts";
import { withService } from "../operator.ts";
import type { FleetWithNeeds } from "./needs.ts";
import { actionsOf, loadNeeds, showNeeds, withNeeds } from "./needs.ts";
import { reasonOf, statusInWords } from "./words.ts";

const FLEET_ORDERS = ["name", "status", "ready", "model"] as const;
type FleetOrder = (typeof FLEET_ORDERS)[number];

export interface FleetsListFlags extends ListFlags {
  readonly status?: string;
  readonly sort?: string;
}

/** `fleets list`: every fleet, why it is not ready, and what to do. */
export async function fleetsList(flags: FleetsListFlags, context: OperatorContext): Promise<ExitCode> {
  const order = FLEET_ORDERS.find((each) => each === flags.sort) ?? null;
  const asksNeeds = flags.json !== true || order === "status";
  return withService(flags, context, (service) => {
    const load = async (): Promise<CallResult<Listed<FleetWithNeeds>>> => {
      const result = await service.listAll(operations.listFleets, (fleets) => fleets);
      if (result.kind !== "ok") return result;
      const known = asksNeeds ? await loadNeeds(service) : NONE;
      if (known.kind !== "ok") return known;
      const records = result.value.records
        .filter(({ item: { status } }) => status === (flags.status ?? status))
        .map(({ item, document }) => ({ item: withNeeds(item, known.value), document }));
      return { ...result, value: { ...result.value, records: order === null ? records : sortBy(order, records) } };
    };
    return showList(service, load, fleetsView(context.terminal, flags), flags, context);
  });
}

const NONE = { kind: "ok", status: 200, value: null } as const;

/** By status: the most urgent first. By ready: the smallest share first. Otherwise alphabetical. */
function sortBy(
  order: FleetOrder,
  records: readonly ListedRecord<FleetWithNeeds>[],
): readonly ListedRecord<FleetWithNeeds>[] {
  const { compare } = new Intl.Collator("en", { numeric: true });
  return records.toSorted(({ item: left }, { item: right }) => {
    switch (order) {
      case "name":
        return compare(left.view.name, right.view.name);
      case "model":
        return compare(left.view.subject, right.view.subject);
      case "ready":
        return readyShare(left.view) - readyShare(right.view);
      case "status":
        return urgencyOf(left) - urgencyOf(right);
    }
  });
}

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

function fleetsView(terminal: Terminal, { status }: FleetsListFlags): ListView<FleetWithNeeds> {
  return {
    headers: ["name", "status", "ready", "model", "reason", "action", "id"],
    prose: ["name", "reason", "action", "model"],
    spare: ["action", "id"],
    row: (fleet, nowMs) => [
      fleet.view.name,
      statusInWords(fleet.view, terminal),
      `${readyIn(fleet.view.robots)}/${fleet.view.robots.registered}`,
      fleet.view.subject,
      reasonOf(fleet.view, fleet.needs, nowMs),
      actionsOf(fleet),
      fleet.view.id,
    ],
    below: { column: "action", tell: (fleets, nowMs) => showNeeds(fleets, terminal, nowMs) },
    id: ({ view }) => view.id,
    empty: status === undefined ? "There are no fleets yet." : `No fleet is ${status}.`,
  };
}
