import { beyondSpec } from "../../api/api.ts";
import type { FleetNeed } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { listIfOffered, type Service } from "../service.ts";
import { blockerOf, firstClause, withRelativeTimes } from "./words.ts";
import type { Now } from "../times.ts";

/** A fleet, and the actions that it needs from an operator. */
export interface FleetWithNeeds {
  readonly view: FleetView;
  readonly needs: readonly FleetNeed[];
}

/** Needs by fleet id. */
type KnownNeeds = ReadonlyMap<string, readonly FleetNeed[]>;

/** Fetches the needs of all fleets; null where the service has no such operation. */
export async function loadNeeds(service: Service): Promise<CallResult<KnownNeeds | null>> {
  const result = await listIfOffered(service, beyondSpec.listFleetNeeds, ({ items }) => items);
  if (result.kind !== "ok") return result;
  const needs = result.value?.map(({ fleet_id: fleetId, needs: own }) => [fleetId, own] as const) ?? null;
  return { ...result, value: needs === null ? null : new Map(needs) };
}

/** The fleet's needs from the service, else its documented `blocker`. */
export function withNeeds(view: FleetView, known: KnownNeeds | null): FleetWithNeeds {
  if (known !== null) return { view, needs: known.get(view.id) ?? [] };
  const blocker = blockerOf(view);
  return { view, needs: blocker === "" ? [] : [{ reason: blocker, action: "" }] };
}

/** What the operator has to do; empty for nothing. */
export function actionsOf({ needs }: FleetWithNeeds): string {
  return [...new Set(needs.map(({ action }) => action))].join(" ");
}

/** Display limits; the rest is counted. */
const SHOWN = { groups: 8, names: 4 } as const;

/** Below a table that is too narrow for the action column: each action once, with its fleets. */
export function showNeeds(fleets: readonly FleetWithNeeds[], terminal: Terminal, now: Now): void {
  const groups = groupNeeds(fleets, now);
  for (const { names, reason, action } of groups.slice(0, SHOWN.groups)) {
    const others = names.length - SHOWN.names;
    const text = `${names.slice(0, SHOWN.names).join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
    terminal.print("");
    terminal.sentence(`${terminal.style("bold", text)}: ${reason}`);
    if (action !== "") terminal.sentence(action, "  → ", "    ");
  }
  const more = groups.length - SHOWN.groups;
  if (more > 0) terminal.note(`${more} more: robot-policy fleets show FLEET shows them.`);
}

interface NeedGroup {
  readonly names: readonly string[];
  readonly reason: string;
  readonly action: string;
}

/** Groups fleets by need, the largest group first. The reason of several fleets leaves out robots and servers. */
export function groupNeeds(fleets: readonly FleetWithNeeds[], now: Now): readonly NeedGroup[] {
  const all = fleets.flatMap(({ view, needs }) =>
    needs.map(({ reason, action }) => ({ name: view.name, reason, action })),
  );
  const groups = Map.groupBy(all, ({ reason, action }) => JSON.stringify([firstClause(reason), action]));
  return [...groups.values()]
    .map((group) => {
      const { reason = "", action = "" } = group[0] ?? {};
      const names = group.map(({ name }) => name);
      const text = names.length > 1 ? `${firstClause(reason)}.` : reason;
      return { names, reason: withRelativeTimes(text, now), action };
    })
    .toSorted((left, right) => right.names.length - left.names.length);
}
