import type { FleetNeed, WaitingCounts } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import { OFFLINE, OVER_THE_PEAK, waitingOf } from "../../api/words/fleets.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { shortDuration } from "../../platform/text/relative-time.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";

/** The wording for fleets in all commands. */

const BAR_CELLS = 20;

export function statusText({ status }: Pick<FleetView, "status">, terminal: Terminal): string {
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

/** The model that the fleet has now: a service may show that of an update as its subject. */
export function modelOf({ active_model: activeModel, subject }: FleetView): string {
  return activeModel?.subject ?? subject;
}

/** `3 ready, 1 blocked of 10`, without states that have no robot. */
export function countsText(robots: FleetView["robots"], waitingFor?: WaitingCounts | null): string {
  const { registered, active, ready, blocked } = robots;
  const { peak = 0, robot: offline = 0 } = waitingOf(robots, waitingFor) ?? {};
  const waiting = robots.waiting - peak - offline;
  const states = Object.entries({ active, ready, [OVER_THE_PEAK]: peak, waiting, [OFFLINE]: offline, blocked });
  const parts = states.filter(([, count]) => count > 0).map(([state, count]) => `${count} ${state}`);
  return parts.length === 0 ? `${registered} robots` : `${parts.join(", ")} of ${registered}`;
}

/** `█` for active and ready robots, `▒` for waiting ones, `░` for blocked ones. */
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

/** `ready in 2 min to 4 min`; empty without an estimate. */
export function estimateText({ readiness_estimate: readinessEstimate }: FleetView): string {
  if (readinessEstimate === null || readinessEstimate === undefined) return "";
  const { lower_seconds: lowerSeconds, upper_seconds: upperSeconds } = readinessEstimate;
  const [lower, upper] = [shortDuration(lowerSeconds * 1000), shortDuration(upperSeconds * 1000)];
  return lower === upper ? `ready in about ${upper}` : `ready in ${lower} to ${upper}`;
}

/** Why the fleet or its update is blocked; empty where it is not. */
export function blockerOf({ blocker, update }: FleetView): string {
  return blocker ?? update?.blocker ?? "";
}

/** For a list: the running update, and why the fleet is not ready; empty for a ready fleet without an update. */
export function reasonOf(fleet: FleetView, needs: readonly FleetNeed[], now: Now): string {
  // The status first, because a narrow terminal cuts the end.
  const { update } = fleet;
  const underWay = update === null || update === undefined ? "" : `${update.status} update to ${update.subject}`;
  const parts = [underWay, stateReasonOf(fleet, needs, now)].filter((part) => part !== "");
  return parts.join("; ");
}

function stateReasonOf(fleet: FleetView, [need]: readonly FleetNeed[], now: Now): string {
  if (need !== undefined) return withRelativeTimes(firstClause(need.reason), now);
  const { registered, blocked, waiting } = fleet.robots;
  if (fleet.status !== "degraded") return estimateText(fleet);
  if (blocked > 0) return `${blocked} of ${robotsText(registered)} cannot run its model`;
  return `an inference endpoint fails; ${robotsText(waiting)} ${waiting === 1 ? "waits" : "wait"}`;
}

/** The beginning of a reason, without the robots and servers that follow it. */
export function firstClause(reason: string): string {
  return reason.replace(/^Update: /, "").split(/[:;.](?:\s|$)/, 1)[0] ?? "";
}

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;
const DAY_MS = 86_400_000;

/**
 * Adds relative times to a service's text: `since 10:43Z (12 min ago)`, `until 2026-11-25 08:00Z (in 3 d)`, `until 2030-01-31 08:00Z`. Where
 * times are to be in full, they are already.
 */
export function withRelativeTimes(text: string, now: Now): string {
  if (now.isAbsolute) return text;
  return text.replaceAll(MOMENT, (iso: string, at: number) => {
    const [date, minute] = [iso.slice(0, 10), minuteText(iso)];
    const relative = text.slice(0, at).endsWith("since ") ? timeAgo(iso, now) : timeUntil(iso, now);
    if (relative === date) return minute;
    const isNear = Math.abs(Date.parse(iso) - now.ms) < DAY_MS;
    return `${isNear ? minute.slice(date.length + 1) : minute} (${relative})`;
  });
}

/** `2030-01-31 08:00Z`. @param iso in UTC. */
export function minuteText(iso: string): string {
  return `${iso.slice(0, 16).replace("T", " ")}Z`;
}

/** At most so many robots are named. */
const NAMED_ROBOTS = 12;

/** `arm-1, arm-2 and 3 more`. */
export function namesText(robots: readonly { readonly robot: string }[]): string {
  const names = robots.slice(0, NAMED_ROBOTS).map(({ robot }) => robot);
  const more = robots.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export function robotsText(count: number): string {
  return `${count} ${count === 1 ? "robot" : "robots"}`;
}
