import type { FleetMemberView, WaitingCounts } from "../fleet-details.ts";
import type { FleetView } from "../fleets.ts";

/** Texts for fleets and their members, at a terminal and in a browser. */

/** On the wire, a robot that is offline or over the fleet's peak is `waiting` too. */
export function memberStateInWords({
  state,
  waiting_for: waitingFor,
}: Pick<FleetMemberView, "state" | "waiting_for">): string {
  if (waitingFor === "robot") return OFFLINE;
  return waitingFor === "peak" ? OVER_THE_PEAK : state;
}

export const OVER_THE_PEAK = "over the peak";
export const OFFLINE = "offline";

/** The waiting counts, if they match the view; null if they are missing, or from a moment with another number of waiting robots. */
export function waitingOf(
  { waiting: count }: FleetView["robots"],
  waiting: WaitingCounts | null | undefined,
): WaitingCounts | null {
  if (waiting === null || waiting === undefined) return null;
  return waiting.endpoint + waiting.window + waiting.peak + waiting.robot === count ? waiting : null;
}

/** The peak; more robots may be active if they were deployed by hand. */
export function peakInWords({ robots: { active }, peak_active_robots: peak }: FleetView): string {
  const kept = `capacity is kept for ${peak} at once`;
  return active > peak ? `${kept}; ${active} are active` : kept;
}
