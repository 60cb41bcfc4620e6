/** What pages ask of fleets, and a fleet with what it needs from an operator. */
import { useMemo } from "preact/hooks";

import type {
  FleetDetails,
  FleetMemberChanges,
  FleetNeed,
  FleetNeeds,
  WaitingCounts,
} from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { OFFLINE, OVER_THE_PEAK, waitingOf } from "../../../api/words/fleets.ts";
import { groupBy } from "../../../api/words/group-by.ts";
import { shortDuration } from "../../../platform/text/relative-time.ts";
import { type Data, useData } from "../data/query.ts";

export interface Fleets {
  readonly fleets: Data<readonly FleetView[]>;
  readonly needs: Data<{ readonly items: readonly FleetNeeds[] }>;
  /** The fleets with their needs, as far as they are loaded. */
  readonly rows: readonly FleetRow[];
}

export function useFleets(): Fleets {
  const fleets = useData<readonly FleetView[]>("/v1/fleets", TOPICS);
  const needs = useData<{ readonly items: readonly FleetNeeds[] }>("/v1/me/fleet-needs", TOPICS);
  const views = fleets.value ?? NO_FLEETS;
  const told = needs.value?.items;
  return { fleets, needs, rows: useMemo(() => fleetRows(views, told), [views, told]) };
}

const TOPICS = ["fleets", "robots", "models"] as const;
const NO_FLEETS: readonly FleetView[] = [];

export function useFleet(id: string): Data<FleetView> {
  return useData<FleetView>(`/v1/fleets/${encodeURIComponent(id)}`, TOPICS);
}

export function useFleetDetails(id: string): Data<FleetDetails> {
  return useData<FleetDetails>(`/v1/fleets/${encodeURIComponent(id)}/details`, TOPICS);
}

/** What reconciling the fleet would change. */
export function useMemberChanges(id: string): Data<FleetMemberChanges> {
  return useData<FleetMemberChanges>(`/v1/fleets/${encodeURIComponent(id)}/reconcile`, TOPICS);
}

export function fleetPath(id: string): string {
  return `/fleets/${encodeURIComponent(id)}`;
}

/** A fleet with what it needs from an operator. */
export interface FleetRow {
  readonly fleet: FleetView;
  readonly needs: readonly FleetNeed[];
  /** Null if not loaded, or if it does not match the view's count of waiting robots. */
  readonly waiting: WaitingCounts | null;
}

/** The part of a fleet's needs or details that complements its view. */
interface Told {
  readonly needs: readonly FleetNeed[];
  readonly waiting?: WaitingCounts | null | undefined;
}

/** @param told undefined before it is loaded: then the blockers of the view stand in. */
export function fleetRow(fleet: FleetView, told: Told | undefined): FleetRow {
  return { fleet, needs: told?.needs ?? blockersOf(fleet), waiting: waitingOf(fleet.robots, told?.waiting) };
}

export function fleetRows(fleets: readonly FleetView[], told: readonly FleetNeeds[] | undefined): readonly FleetRow[] {
  const byId = new Map(told?.map((item) => [item.fleet_id, item]));
  return fleets.map((fleet) => fleetRow(fleet, byId.get(fleet.id)));
}

function blockersOf({ blocker, update }: FleetView): readonly FleetNeed[] {
  const updateBlocker = update?.blocker ?? null;
  const reasons = [blocker ?? null, updateBlocker === null ? null : `Update: ${updateBlocker}`];
  return reasons.flatMap((reason) => (reason === null ? [] : [{ reason, action: "" }]));
}

/** Most urgent first: fleets that serve no robot lead. `ready with needs`: an update is blocked. */
const SEVERITY: readonly string[] = ["blocked", "stuck", "degraded", "ready with needs", "preparing", "ready"];

export function severityOf(row: FleetRow): number {
  const state = stateWord(row);
  return SEVERITY.indexOf(state === "ready" && row.needs.length > 0 ? "ready with needs" : state);
}

/** The state to show: a preparing fleet with needs is `stuck`, because it does not become ready by itself. */
export function stateWord({ fleet: { status }, needs }: FleetRow): string {
  return status === "preparing" && needs.length > 0 ? "stuck" : status;
}

/** Progress of a fleet that needs no attention; null once it is ready. */
export function progressOf({ status, readiness_estimate: readinessEstimate }: FleetView): string | null {
  if (readinessEstimate !== null && readinessEstimate !== undefined) return estimateText(readinessEstimate);
  return status === "preparing" ? "Preparing; how long it takes is not known yet." : null;
}

export function estimateText({
  lower_seconds: lowerSeconds,
  upper_seconds: upperSeconds,
}: NonNullable<FleetView["readiness_estimate"]>): string {
  const lower = shortDuration(lowerSeconds * 1000);
  const upper = shortDuration(upperSeconds * 1000);
  return lower === upper ? `Ready in about ${upper}.` : `Ready in ${lower} to ${upper}.`;
}

/** Fleets with the same needs: ten fleets with one failing endpoint are one task, not ten. */
export interface NeedingFleets {
  readonly needs: readonly FleetNeed[];
  readonly rows: readonly FleetRow[];
}

/** Fleets that need attention, the most urgent first. */
export function groupByNeeds(rows: readonly FleetRow[]): readonly NeedingFleets[] {
  const needing = rows.filter(({ needs }) => needs.length > 0);
  needing.sort((left, right) => severityOf(left) - severityOf(right));
  const groups = groupBy(needing, ({ fleet, needs }) => JSON.stringify([fleet.status, needs]));
  return [...groups.values()].map((group) => ({ needs: group[0]?.needs ?? [], rows: group }));
}

/**
 * The robots of a fleet by state. Once the waiting counts are loaded, robots that are offline or over the peak are counted separately from those that wait
 * for an endpoint or a window.
 */
export function robotCounts({ fleet: { robots }, waiting }: FleetRow) {
  const beyondPeak = waiting?.peak ?? 0;
  const offline = waiting?.robot ?? 0;
  return [
    { tone: "active", word: "active", count: robots.active },
    { tone: "ready", word: "ready", count: robots.ready },
    ...(waiting === null ? [] : [{ tone: "waiting", word: OVER_THE_PEAK, count: beyondPeak } as const]),
    { tone: "waiting", word: "waiting", count: robots.waiting - beyondPeak - offline },
    ...(offline === 0 ? [] : [{ tone: "degraded", word: OFFLINE, count: offline } as const]),
    { tone: "blocked", word: "blocked", count: robots.blocked },
  ] as const;
}
