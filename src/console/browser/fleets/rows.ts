import type { FleetNeed, FleetNeeds, WaitingCounts } from "../../../api/fleet-details.ts";
import type { FleetView } from "../../../api/fleets.ts";
import { OVER_THE_PEAK, waitingOf } from "../../../api/words/fleets.ts";
import { shortDuration } from "../../../platform/text/relative-time.ts";

/** A fleet, and what it needs from a person. */
export interface FleetRow {
  readonly fleet: FleetView;
  readonly needs: readonly FleetNeed[];
  /** Null where the service has not told, or told it at a moment when other robots waited. */
  readonly waiting: WaitingCounts | null;
}

/** What the service tells of a fleet beside its view. */
interface Told {
  readonly needs: readonly FleetNeed[];
  readonly waiting?: WaitingCounts | null | undefined;
}

/** @param told undefined before the service has told; the blockers of the view are the most urgent needs. */
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

/** From the fleet that needs a person most: first those that serve nobody; `ready` with needs has an update that cannot go on. */
const SEVERITY: readonly string[] = ["blocked", "stuck", "degraded", "ready with needs", "preparing", "ready"];

export function severityOf(row: FleetRow): number {
  const state = stateWord(row);
  return SEVERITY.indexOf(state === "ready" && row.needs.length > 0 ? "ready with needs" : state);
}

/** The state in words: a fleet that is never ready unless somebody does something is not just preparing. */
export function stateWord({ fleet: { status }, needs }: FleetRow): string {
  return status === "preparing" && needs.length > 0 ? "stuck" : status;
}

/** What there is to say of a fleet that needs nobody; null for one that runs. */
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

/** Fleets that need the same: ten that one dead endpoint keeps from working are one thing to do, not ten. */
export interface NeedingFleets {
  readonly needs: readonly FleetNeed[];
  readonly rows: readonly FleetRow[];
}

/** Those that need a person, the most urgent first. */
export function groupByNeeds(rows: readonly FleetRow[]): readonly NeedingFleets[] {
  const needing = rows.filter(({ needs }) => needs.length > 0);
  needing.sort((left, right) => severityOf(left) - severityOf(right));
  const groups = new Map<string, FleetRow[]>();
  for (const row of needing) {
    const key = JSON.stringify([row.fleet.status, row.needs]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups.values()].map((group) => ({ needs: group[0]?.needs ?? [], rows: group }));
}

/**
 * The robots of a fleet by state. Those beyond the peak are told apart from those that wait for an endpoint or a window, as soon as the
 * service has said which are which.
 */
export function robotCounts({ fleet: { robots }, waiting }: FleetRow) {
  const beyondPeak = waiting?.peak ?? 0;
  return [
    { tone: "active", word: "active", count: robots.active },
    { tone: "ready", word: "ready", count: robots.ready },
    ...(waiting === null ? [] : [{ tone: "waiting", word: OVER_THE_PEAK, count: beyondPeak } as const]),
    { tone: "waiting", word: "waiting", count: robots.waiting - beyondPeak },
    { tone: "blocked", word: "blocked", count: robots.blocked },
  ] as const;
}
