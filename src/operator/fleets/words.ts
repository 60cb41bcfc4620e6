import type { FleetNeed, WaitingCounts } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import { OVER_THE_PEAK, waitingOf } from "../../api/words/fleets.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { relativeTime, shortDuration } from "../../platform/text/relative-time.ts";

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
export function countsInWords(robots: FleetView["robots"], waitingFor?: WaitingCounts | null): string {
  const { registered, active, ready, blocked } = robots;
  const overThePeak = waitingOf(robots, waitingFor)?.peak ?? 0;
  const waiting = robots.waiting - overThePeak;
  const states = Object.entries({ active, ready, [OVER_THE_PEAK]: overThePeak, waiting, blocked });
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
export function estimateInWords({ readiness_estimate: readinessEstimate }: FleetView): string {
  if (readinessEstimate === null || readinessEstimate === undefined) return "";
  const { lower_seconds: lowerSeconds, upper_seconds: upperSeconds } = readinessEstimate;
  const [lower, upper] = [shortDuration(lowerSeconds * 1000), shortDuration(upperSeconds * 1000)];
  return lower === upper ? `ready in about ${upper}` : `ready in ${lower} to ${upper}`;
}

/** What keeps the fleet or its update from going on without a person; empty where nothing does. */
export function blockerOf({ blocker, update }: FleetView): string {
  return blocker ?? update?.blocker ?? "";
}

/** One short sentence for a list: the update that is under way, and why the fleet is not ready; empty for one that runs. */
export function reasonOf(fleet: FleetView, needs: readonly FleetNeed[], nowMs: number): string {
  // Its state first: a narrow terminal shows the beginning.
  const { update } = fleet;
  const underWay = update === null || update === undefined ? "" : `${update.status} update to ${update.subject}`;
  const parts = [underWay, stateReasonOf(fleet, needs, nowMs)].filter((part) => part !== "");
  return parts.join("; ");
}

function stateReasonOf(fleet: FleetView, [need]: readonly FleetNeed[], nowMs: number): string {
  if (need !== undefined) return momentsInWords(firstClause(need.reason), nowMs);
  const { registered, blocked, waiting } = fleet.robots;
  if (fleet.status !== "degraded") return estimateInWords(fleet);
  if (blocked > 0) return `${blocked} of ${robots(registered)} cannot run its model`;
  return `an inference endpoint fails; ${robots(waiting)} ${waiting === 1 ? "waits" : "wait"}`;
}

/** What is the matter, without the robots and servers that a service names after it. */
export function firstClause(reason: string): string {
  return reason.replace(/^Update: /, "").split(/[:;.](?:\s|$)/, 1)[0] ?? "";
}

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;
const DAY_MS = 86_400_000;

/** A sentence of the service for a person: `since 10:43Z (12 min ago)`, `until 2026-11-25 08:00Z (in 3 d)`, `until 2030-01-31 08:00Z`. */
export function momentsInWords(text: string, nowMs: number): string {
  return text.replaceAll(MOMENT, (iso) => {
    const [date, minute] = [iso.slice(0, 10), minuteInWords(iso)];
    const relative = relativeTime(iso, nowMs);
    if (relative === date) return minute;
    const isNear = Math.abs(Date.parse(iso) - nowMs) < DAY_MS;
    return `${isNear ? minute.slice(date.length + 1) : minute} (${relative})`;
  });
}

/** `2030-01-31 08:00Z`. @param iso in UTC. */
export function minuteInWords(iso: string): string {
  return `${iso.slice(0, 16).replace("T", " ")}Z`;
}

function robots(count: number): string {
  return `${count} ${count === 1 ? "robot" : "robots"}`;
}
