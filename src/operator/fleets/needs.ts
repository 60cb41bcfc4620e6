import { beyondSpec } from "../../api/api.ts";
import type { FleetNeed } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { isUnknownOperation } from "../failure.ts";
import { itemsIn } from "../lists/listed.ts";
import type { Service } from "../service.ts";
import { blockerOf, firstClause, momentsInWords } from "./words.ts";

/** A fleet, and what a person has to see to. */
export interface NeedyFleet {
  readonly view: FleetView;
  readonly needs: readonly FleetNeed[];
}

/** What fleets need, by their ids. */
export type KnownNeeds = ReadonlyMap<string, readonly FleetNeed[]>;

/** Asks what all fleets need; null where the service does not tell. */
export async function loadNeeds(service: Service): Promise<CallResult<KnownNeeds | null>> {
  const result = await service.listAll(beyondSpec.listFleetNeeds, ({ items }) => items);
  if (result.kind !== "ok") return isUnknownOperation(result) ? { kind: "ok", status: 200, value: null } : result;
  return { ...result, value: new Map(itemsIn(result.value).map(({ fleet_id: fleetId, needs }) => [fleetId, needs])) };
}

/** What the service says of the fleet, else the blocker that is documented. */
export function withNeeds(view: FleetView, known: KnownNeeds | null): NeedyFleet {
  if (known !== null) return { view, needs: known.get(view.id) ?? [] };
  const blocker = blockerOf(view);
  return { view, needs: blocker === "" ? [] : [{ reason: blocker, action: "" }] };
}

/** What somebody has to do; empty for nothing. */
export function actionsOf({ needs }: NeedyFleet): string {
  return [...new Set(needs.map(({ action }) => action))].join(" ");
}

/** Groups and names that a person is shown; the rest is counted. */
const SHOWN = { groups: 8, names: 4 } as const;

/** Below a table that has no room for it: what is to be done, once for all fleets that are alike. */
export function tellNeeds(fleets: readonly NeedyFleet[], terminal: Terminal, nowMs: number): void {
  const groups = groupNeeds(fleets, nowMs);
  for (const { names, reason, action } of groups.slice(0, SHOWN.groups)) {
    const others = names.length - SHOWN.names;
    const told = `${names.slice(0, SHOWN.names).join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
    terminal.print("");
    terminal.sentence(`${terminal.style("bold", told)}: ${reason}`);
    if (action !== "") terminal.sentence(action, "  → ", "    ");
  }
  const more = groups.length - SHOWN.groups;
  if (more > 0) terminal.note(`${more} more of the kind: robot-policy fleets show FLEET tells it of each.`);
}

interface NeedGroup {
  readonly names: readonly string[];
  readonly reason: string;
  readonly action: string;
}

/** Fleets with the same need, the most first. Robots and servers that a reason names are left out where it stands for several. */
export function groupNeeds(fleets: readonly NeedyFleet[], nowMs: number): readonly NeedGroup[] {
  const all = fleets.flatMap(({ view, needs }) =>
    needs.map(({ reason, action }) => ({ name: view.name, reason, action })),
  );
  const groups = Map.groupBy(all, ({ reason, action }) => JSON.stringify([firstClause(reason), action]));
  return [...groups.values()]
    .map((group) => {
      const { reason = "", action = "" } = group[0] ?? {};
      const names = group.map(({ name }) => name);
      const told = names.length > 1 ? `${firstClause(reason)}.` : reason;
      return { names, reason: momentsInWords(told, nowMs), action };
    })
    .toSorted((left, right) => right.names.length - left.names.length);
}
