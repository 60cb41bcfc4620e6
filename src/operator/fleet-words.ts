import type { FleetNeed } from "../api/fleet-details.ts";
import type { FleetView } from "../api/fleets.ts";
import type { Terminal } from "../platform/terminal.ts";
import { shortDuration } from "../platform/relative-time.ts";

/** How fleets are put for a person, wherever they are shown. */

/** Cells of a bar of counts. */
const BAR_CELLS = 20;

export function statusInWords({ status }: Pick<FleetView, "status">, terminal: Terminal): string {
  switch (status) {
    case "ready":
      return terminal.style("good", status);
    case "preparing":
    case "degraded":
      return terminal.style("warn", status);
    case "blocked":
      return terminal.style("bad", status);
  }
}

/** `3 ready, 1 blocked of 10`; states that no robot is in are left out. */
export function countsInWords({ registered, active, ready, waiting, blocked }: FleetView["robots"]): string {
  const states = Object.entries({ active, ready, waiting, blocked });
  const told = states.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`);
  return told.length === 0 ? `${registered} robots` : `${told.join(", ")} of ${registered}`;
}

/** `█` for robots that work or could, `▒` for those that wait, `░` for those that are blocked. */
export function countsAsBar({ registered, active, ready, blocked }: FleetView["robots"], terminal: Terminal): string {
  if (registered === 0) return "";
  const cells = (count: number) => Math.round((Math.min(count, registered) / registered) * BAR_CELLS);
  const good = cells(active + ready);
  const able = Math.max(good, cells(registered - blocked));
  return (
    terminal.style("good", "█".repeat(good)) +
    terminal.style("dim", "▒".repeat(able - good)) +
    terminal.style("bad", "░".repeat(BAR_CELLS - able))
  );
}

/** `ready in 2 min to 4 min`; empty where nothing is known. */
export function estimateInWords({ readiness_estimate }: FleetView): string {
  if (readiness_estimate === null || readiness_estimate === undefined) return "";
  const { lower_seconds, upper_seconds } = readiness_estimate;
  const [lower, upper] = [shortDuration(lower_seconds * 1000), shortDuration(upper_seconds * 1000)];
  return lower === upper ? `ready in about ${upper}` : `ready in ${lower} to ${upper}`;
}

/** What keeps the fleet or its update from going on without a person; empty where nothing does. */
export function blockerOf({ blocker, update }: FleetView): string {
  return blocker ?? update?.blocker ?? "";
}

/** One short sentence for a list: the update that is under way, and why the fleet is not ready; empty for one that runs. */
export function reasonOf(fleet: FleetView, needs: readonly FleetNeed[]): string {
  // Its state first: a narrow terminal shows the beginning.
  const { update } = fleet;
  const under_way = update === null || update === undefined ? "" : `${update.status} update to ${update.subject}`;
  const parts = [under_way, stateReasonOf(fleet, needs)].filter((part) => part !== "");
  return parts.join("; ");
}

function stateReasonOf(fleet: FleetView, [need]: readonly FleetNeed[]): string {
  if (need !== undefined) return withShortMoments(firstClause(need.reason));
  const { registered, blocked, waiting } = fleet.robots;
  if (fleet.status !== "degraded") return estimateInWords(fleet);
  if (blocked > 0) return `${blocked} of ${robots(registered)} cannot run its model`;
  return `an inference endpoint fails; ${robots(waiting)} ${waiting === 1 ? "waits" : "wait"}`;
}

/** What is the matter, without the robots and servers that a service names after it. */
export function firstClause(reason: string): string {
  return reason.replace(/^Update: /, "").split(/[:;.](?:\s|$)/, 1)[0] ?? "";
}

/** `2030-01-31T08:00:00.000Z` as `2030-01-31 08:00Z`. */
export function withShortMoments(text: string): string {
  return text.replaceAll(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z/g, "$1 $2Z");
}

function robots(count: number): string {
  return `${count} ${count === 1 ? "robot" : "robots"}`;
}
