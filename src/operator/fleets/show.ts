import type { FleetDetails, FleetMemberView, FleetNeed } from "../../api/fleet-details.ts";
import type { FleetView } from "../../api/fleets.ts";
import { memberStateInWords, OFFLINE, peakInWords } from "../../api/words/fleets.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { chosenDuration } from "../../platform/text/relative-time.ts";
import { compareNames, DOCUMENT_REMEDY, noteHidden, showFacts } from "../lists/show-list.ts";
import { showEndpoints } from "../models/endpoints.ts";
import { withNeeds } from "./needs.ts";
import {
  countsAsBar,
  countsText,
  estimateText,
  minuteText,
  modelOf,
  robotsText,
  statusText,
  withRelativeTimes,
} from "./words.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";

/** Members named per group; the rest is counted. */
const NAMED_ROBOTS = 12;
/** Display limits. */
const SHOWN = { windows: 5, generations: 10 } as const;

/** Display order: members that need an action first. */
const STATES = ["blocked", "waiting", "ready", "active"] as const;

/** Shows a fleet; the reasons why it is not ready come first. */
export function showFleet(fleet: FleetView, details: FleetDetails | null, terminal: Terminal, now: Now): void {
  terminal.print(`${terminal.style("bold", fleet.name)}  ${statusText(fleet, terminal)}  ${fleet.id}`);
  for (const { reason, action } of needsOf(fleet, details)) {
    terminal.sentence(withRelativeTimes(reason, now), `${terminal.style("bad", "!")} `, "  ");
    if (action !== "") terminal.sentence(action, "  → ", "    ");
  }
  terminal.print(`${countsAsBar(fleet.robots, terminal)}  ${countsText(fleet.robots, details?.waiting)}`);
  terminal.print("");
  showFleetFacts(fleet, details, terminal, now);
  if (details === null) return;
  showMembers(details.members, terminal, now);
  showFleetEndpoints(details, terminal, now);
  showWindows(details.operating_windows, terminal, now);
  showGenerations(details.generations, terminal, now);
}

/** The fleet's needs; only the blocker where the service shows no details. */
function needsOf(fleet: FleetView, details: FleetDetails | null): readonly FleetNeed[] {
  if (details !== null && details.needs.length > 0) return details.needs;
  return withNeeds(fleet, null).needs;
}

function showFleetFacts(fleet: FleetView, details: FleetDetails | null, terminal: Terminal, now: Now): void {
  const { update, active_model: activeModel } = fleet;
  const isUpdated = update !== null && update !== undefined;
  showFacts(terminal, [
    ["model", `${modelOf(fleet)}${activeModel?.status === undefined ? "" : ` (${activeModel.status})`}`],
    ["update", isUpdated ? `${update.subject} (${update.status})` : ""],
    ["estimate", estimateText(fleet)],
    ["mode", `${fleet.readiness_mode}, ${peakInWords(fleet)}`],
    ["members", details === null ? "" : selectionText(details)],
    ["created", timeAgo(details?.created_at, now)],
    ["updated", timeAgo(details?.updated_at, now)],
  ]);
}

function selectionText({ selection }: FleetDetails): string {
  if (selection.selector === null) return "named one by one";
  const { labels, ...filters } = selection.selector;
  const parts = [...Object.entries(filters), ...Object.entries(labels)].flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${value}`],
  );
  return `${parts.join(", ")}, as of its creation or the last reconcile`;
}

function showMembers(members: readonly FleetMemberView[], terminal: Terminal, now: Now): void {
  const groups = Map.groupBy(members, ({ state, reason }) => JSON.stringify([STATES.indexOf(state), reason]));
  const ordered = [...groups.values()].toSorted((a, b) => rankOf(a) - rankOf(b) || b.length - a.length);
  for (const group of ordered) {
    const [first] = group;
    if (first === undefined) continue;
    const { state, reason } = first;
    const style = STYLES[state];
    terminal.print("");
    const why = reason === null ? "" : `: ${withRelativeTimes(reason, now)}`;
    terminal.sentence(`${terminal.style(style, memberStateInWords(first))}, ${robotsText(group.length)}${why}`);
    showNames(group, terminal);
  }
  // Those that wait for the robot itself were named above.
  const offline = members.filter((member) => member.status === "offline" && memberStateInWords(member) !== OFFLINE);
  if (offline.length === 0) return;
  terminal.print("");
  terminal.sentence(`${terminal.style("warn", "offline")}, ${robotsText(offline.length)}: no heartbeats arrive`);
  showNames(offline, terminal);
}

function showNames(members: readonly FleetMemberView[], terminal: Terminal): void {
  const names = members
    .map(({ robot }) => robot)
    .toSorted(compareNames)
    .slice(0, NAMED_ROBOTS);
  const more = members.length - names.length;
  terminal.sentence(`${names.join("  ")}${more === 0 ? "" : `  and ${more} more`}`, "  ", "  ");
}

const STYLES = { blocked: "bad", waiting: "warn", ready: "good", active: "good" } as const;

function rankOf([first]: readonly FleetMemberView[]): number {
  return first === undefined ? STATES.length : STATES.indexOf(first.state);
}

function showFleetEndpoints({ endpoints, generations }: FleetDetails, terminal: Terminal, now: Now): void {
  if (endpoints.length === 0) return;
  const subjects = new Map(generations.map(({ generation_id: generationId, subject }) => [generationId, subject]));
  const shown = endpoints.map((endpoint) => ({
    ...endpoint,
    of: subjects.get(endpoint.generation_id) ?? endpoint.generation_id,
  }));
  terminal.print("");
  showEndpoints(shown, terminal, now);
}

function showWindows(windows: FleetDetails["operating_windows"], terminal: Terminal, now: Now): void {
  if (windows.length === 0) return;
  const open = windows.filter(({ ends_at }) => Date.parse(ends_at) > now.ms);
  const past = windows.length - open.length;
  terminal.heading("operating windows", past === 0 ? "" : `, ${past} past`);
  for (const { starts_at, ends_at } of open.slice(0, SHOWN.windows)) {
    const [startsMs, endsMs] = [Date.parse(starts_at), Date.parse(ends_at)];
    const when = startsMs <= now.ms ? `open, closes ${timeUntil(ends_at, now)}` : timeUntil(starts_at, now);
    terminal.print(
      `  ${minuteText(starts_at)} to ${minuteText(ends_at)}  ${chosenDuration(endsMs - startsMs)}, ${when}`,
    );
  }
  if (open.length > SHOWN.windows) terminal.print(`  and ${open.length - SHOWN.windows} more`);
}

function showGenerations(generations: FleetDetails["generations"], terminal: Terminal, now: Now): void {
  terminal.print("");
  const hidden = terminal.table(
    ["generation", "model", "status", "asked for", "active"],
    generations
      .slice(0, SHOWN.generations)
      .map(({ generation_id: generationId, subject, status, created_at: createdAt, activated_at: activatedAt }) => [
        generationId,
        subject,
        status,
        timeAgo(createdAt, now),
        timeAgo(activatedAt, now),
      ]),
    ["model"],
    ["generation"],
  );
  noteHidden(hidden, DOCUMENT_REMEDY, terminal);
  if (generations.length > SHOWN.generations) terminal.print(`and ${generations.length - SHOWN.generations} earlier`);
}
