import type { FleetDetails } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import type { Terminal } from "../../platform/terminal.ts";
import {
  FLEETS,
  fleetRow,
  type FleetRow,
  fleetState,
  GENERATION_COLUMNS,
  groupNeeds,
  memberGroups,
  robotCounts,
  windowState,
} from "../../views/fleets.ts";
import { counted, countsText, toneOf } from "../../views/view.ts";
import { showFacts } from "../lists/show-list.ts";
import { compareNames, factTexts, showColumns, toned } from "../lists/shown.ts";
import { minuteText, type Now, timeUntil, withRelativeTimes } from "../times.ts";

/** Display limits; the rest is counted. */
const SHOWN = { robots: 12, windows: 5, generations: 10, needs: 8, fleets: 4 } as const;

/** Shows a fleet; the reasons why it is not ready come first. */
export function showFleet(fleet: FleetView, details: FleetDetails | null, terminal: Terminal, now: Now): void {
  const row = fleetRow(fleet, details, details);
  const state = fleetState(row);
  terminal.print(`${terminal.style("bold", fleet.name)}  ${toned(state, toneOf(state), terminal)}  ${fleet.id}`);
  for (const { reason, action } of row.needs) {
    terminal.sentence(withRelativeTimes(reason, now), `${terminal.style("bad", "!")} `, "  ");
    if (action !== "") terminal.sentence(action, "  → ", "    ");
  }
  terminal.print(countsText(robotCounts(row)));
  terminal.print("");
  showFacts(terminal, factTexts(FLEETS.factsOf(row), now));
  if (details === null) return;
  const { members, operating_windows: windows, generations } = details;
  showMembers(members, terminal, now);
  showWindows(windows, terminal, now);
  terminal.print("");
  showColumns(GENERATION_COLUMNS, generations.slice(0, SHOWN.generations), terminal, now);
  if (generations.length > SHOWN.generations) terminal.print(`and ${generations.length - SHOWN.generations} earlier`);
}

function showMembers(members: FleetDetails["members"], terminal: Terminal, now: Now): void {
  for (const { state, tone, reason, members: group } of memberGroups(members)) {
    const why = reason === null ? "" : `: ${withRelativeTimes(reason, now)}`;
    const names = group.map(({ robot }) => robot).toSorted(compareNames);
    const more = names.length - SHOWN.robots;
    terminal.print("");
    terminal.sentence(`${toned(state, tone, terminal)}, ${counted(group.length, "robot")}${why}`);
    terminal.sentence(`${names.slice(0, SHOWN.robots).join("  ")}${more > 0 ? `  and ${more} more` : ""}`, "  ", "  ");
  }
}

function showWindows(windows: FleetDetails["operating_windows"], terminal: Terminal, now: Now): void {
  if (windows.length === 0) return;
  const ahead = windows.filter((window) => windowState(window, now.ms) !== "past");
  terminal.heading("operating windows", `, ${ahead.length} of ${windows.length} not past`);
  for (const window of ahead.slice(0, SHOWN.windows)) {
    const { starts_at: startsAt, ends_at: endsAt } = window;
    const when = windowState(window, now.ms) === "open now" ? "open now" : timeUntil(startsAt, now);
    terminal.print(`  ${minuteText(startsAt)} to ${minuteText(endsAt)}, ${when}`);
  }
}

/** Below a table that is too narrow for the action column: each action once, with its fleets. */
export function showNeeds(fleets: readonly FleetRow[], terminal: Terminal, now: Now): void {
  const groups = groupNeeds(fleets);
  for (const { rows, need } of groups.slice(0, SHOWN.needs)) {
    const names = rows.slice(0, SHOWN.fleets).map(({ fleet }) => fleet.name);
    const others = rows.length - names.length;
    const text = `${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
    terminal.print("");
    terminal.sentence(`${terminal.style("bold", text)}: ${withRelativeTimes(need.reason, now)}`);
    if (need.action !== "") terminal.sentence(need.action, "  → ", "    ");
  }
  const more = groups.length - SHOWN.needs;
  if (more > 0) terminal.note(`${more} more: robot-policy fleets show FLEET shows them.`);
}

/** `arm-1, arm-2 and 3 more`. */
export function namesText(robots: readonly { readonly robot: string }[]): string {
  const names = robots.slice(0, SHOWN.robots).map(({ robot }) => robot);
  const more = robots.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
