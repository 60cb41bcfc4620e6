import type { FleetMemberView, WaitingCounts } from "../fleet-details.ts";
import type { FleetView } from "../fleets.ts";

/** How fleets and their members are put for a person, at a terminal and in a browser. */

/** The wire calls a robot `waiting`, too, that has no room below the fleet's peak. */
export function memberStateInWords({
  state,
  waiting_for: waitingFor,
}: Pick<FleetMemberView, "state" | "waiting_for">): string {
  return waitingFor === "peak" ? OVER_THE_PEAK : state;
}

export const OVER_THE_PEAK = "over the peak";

/** What the waiting robots of a view wait for; null where that is not told, or was told at a moment when other robots waited. */
export function waitingOf(
  { waiting: count }: FleetView["robots"],
  waiting: WaitingCounts | null | undefined,
): WaitingCounts | null {
  if (waiting === null || waiting === undefined) return null;
  return waiting.endpoint + waiting.window + waiting.peak === count ? waiting : null;
}

/** What capacity is kept for; robots that were deployed by hand may be more. */
export function peakInWords({ robots: { active }, peak_active_robots: peak }: FleetView): string {
  const kept = `capacity is kept for ${peak} at once`;
  return active > peak ? `${kept}; ${active} are active` : kept;
}
