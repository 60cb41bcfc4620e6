import type { FleetDetails } from "../../../../api/fleet-details.ts";
import type { FleetView } from "../../../../api/fleets.ts";
import type { Data } from "../data/use-data.ts";
import { useData } from "../data/use-data.ts";
import type { Count } from "../parts/count-bar.tsx";
import { counted, duration, number } from "../parts/text.ts";

export function useFleets(): Data<readonly FleetView[]> {
  return useData<readonly FleetView[]>("/v1/fleets", ["fleets", "robots", "models"]);
}

export function useFleet(id: string): Data<FleetView> {
  return useData<FleetView>(`/v1/fleets/${encodeURIComponent(id)}`, ["fleets", "robots", "models"]);
}

export function useFleetDetails(id: string): Data<FleetDetails> {
  return useData<FleetDetails>(`/v1/fleets/${encodeURIComponent(id)}/details`, ["fleets", "robots", "models"]);
}

export function fleetPath(id: string): string {
  return `/fleets/${encodeURIComponent(id)}`;
}

/** The states of fleets, from the one that needs a person most. */
const SEVERITY: readonly string[] = ["blocked", "degraded", "preparing", "ready"];
const STUCK_SEVERITY = 0.5;

export function severityOf({ status, update }: Pick<FleetView, "status" | "update">): number {
  // A fleet that works, whose update is stuck, waits for a person as well: after the blocked ones, before all others.
  const is_stuck = (update?.blocker ?? null) !== null && status !== "blocked";
  return is_stuck ? STUCK_SEVERITY : SEVERITY.indexOf(status);
}

/** The sentence about a fleet that matters most; null for one that runs. */
export function reasonOf({ blocker, update, readiness_estimate, status, robots }: FleetView): string | null {
  if (blocker !== null && blocker !== undefined) return blocker;
  if (update?.blocker !== null && update?.blocker !== undefined) return `Update: ${update.blocker}`;
  if (status === "degraded") return degradedText(robots);
  if (readiness_estimate !== null && readiness_estimate !== undefined) return estimateText(readiness_estimate);
  if (status === "preparing") return "Preparing; nothing is known yet of how long it takes.";
  return null;
}

/** A fleet is degraded when robots of it are blocked, or when an endpoint of it fails that was healthy. */
function degradedText({ blocked, registered, waiting }: FleetView["robots"]): string {
  if (blocked > 0) return `${number(blocked)} of ${counted(registered, "robot")} cannot run its model.`;
  return `An inference endpoint fails; ${counted(waiting, "robot")} ${waiting === 1 ? "waits" : "wait"}.`;
}

export function estimateText({ lower_seconds, upper_seconds }: NonNullable<FleetView["readiness_estimate"]>): string {
  const lower = duration(lower_seconds);
  const upper = duration(upper_seconds);
  return lower === upper ? `Ready in about ${upper}.` : `Ready in ${lower} to ${upper}.`;
}

export function countsOf({ ready, active, waiting, blocked }: FleetView["robots"]): readonly Count[] {
  return [
    { tone: "active", word: "active", count: active },
    { tone: "ready", word: "ready", count: ready },
    { tone: "waiting", word: "waiting", count: waiting },
    { tone: "blocked", word: "blocked", count: blocked },
  ];
}
