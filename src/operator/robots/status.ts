import { beyondSpec, operations } from "../../api/api.ts";
import { ENDPOINT_STATUSES } from "../../api/endpoints.ts";
import { FLEET_STATUSES } from "../../api/fleets.ts";
import type { CallResult } from "../../client/call-result.ts";
import type { ExitCode, Terminal } from "../../platform/terminal.ts";
import { fleetRowWith } from "../../views/fleets.ts";
import { type Attention, endpointsToAttend, robotCounts, robotsToAttend, stateCounts } from "../../views/overview.ts";
import { inWords } from "../../views/view.ts";
import { command, type OperatorRow } from "../command.ts";
import { listEnrolments } from "../enrolments/enrolments.ts";
import { isUnknownOperation } from "../failure.ts";
import { showNeeds } from "../fleets/show.ts";
import { itemsIn, type Listed } from "../lists/listed.ts";
import { showFacts } from "../lists/show-list.ts";
import { listIfOffered, type Service } from "../service.ts";
import { type Now, timeAgo } from "../times.ts";
import { loadRobots } from "./robots.ts";

/** The overview of the console at a terminal. */
export const statusCommands: readonly OperatorRow[] = [
  command({
    name: "status",
    summary: "show what needs attention, and how many robots, fleets and endpoints are in which state",
    flags: {},
    examples: ["robot-policy status"],
    run: showStatus,
  }),
];

async function showStatus(service: Service): Promise<ExitCode> {
  const { terminal } = service;
  const robots = itemsOrNone(await loadRobots(service, "if-shown"), service);
  if (typeof robots === "number") return robots;
  const views = itemsOrNone(await service.listAll(operations.listFleets, (list) => list), service);
  if (typeof views === "number") return views;
  const endpoints = itemsOrNone(await service.listAll(beyondSpec.listEndpoints, ({ items }) => items), service);
  if (typeof endpoints === "number") return endpoints;
  const enrolments = itemsOrNone(await listEnrolments(service), service);
  if (typeof enrolments === "number") return enrolments;
  const needs = await listIfOffered(service, beyondSpec.listFleetNeeds, ({ items }) => items);
  const fleets = views.map(fleetRowWith(needs.kind === "ok" ? needs.value : null));
  const waiting = enrolments.length;
  const needing = fleets.filter(({ needs }) => needs.length > 0);
  const attention = [...robotsToAttend(robots), endpointsToAttend(endpoints)].filter(({ items }) => items.length > 0);
  const statusOf = ({ status }: { readonly status: string }) => status;
  const counts = {
    robots: robotCounts(robots),
    fleets: stateCounts(views.map(statusOf), FLEET_STATUSES),
    endpoints: stateCounts(endpoints.map(statusOf), ENDPOINT_STATUSES),
  };
  const document = {
    enrolments_waiting: waiting,
    fleet_needs: needing.map(({ fleet, needs }) => ({ fleet: fleet.name, needs })),
    attention: attention.map(({ title, items }) => ({
      title,
      items: items.map(({ name, reason, at }) => ({ name, reason, since: at })),
    })),
    ...Object.fromEntries(Object.entries(counts).map(([name, states]) => [name, Object.fromEntries(states)])),
  };
  return service.answer(document, () => {
    const now = service.now();
    if (waiting > 0) terminal.print(`Computers that wait for approval: ${waiting}. → robot-policy robots pending`);
    if (needing.length > 0) terminal.heading("Fleets that need attention");
    showNeeds(needing, terminal, now);
    for (const each of attention) showAttention(each, terminal, now);
    if (waiting + needing.length + attention.length === 0) terminal.print("Nothing needs attention.");
    terminal.print("");
    showFacts(
      terminal,
      Object.entries(counts).map(([name, states]) => [name, countsText(states)]),
    );
  });
}

function countsText(states: ReturnType<typeof stateCounts>): string {
  return states.map(([state, count]) => `${count} ${inWords(state)}`).join(", ");
}

/** Lines of each list; the command that it names has the rest. */
const LINES = 8;

function showAttention({ title, items, command: all }: Attention, terminal: Terminal, now: Now): void {
  terminal.heading(title, ` (${items.length})`);
  const rows = items
    .slice(0, LINES)
    .map(({ name, reason, at }) => [name, timeAgo(at, now) || "never seen", reason ?? ""]);
  terminal.table(["name", "since", "reason"], rows, ["name", "reason"]);
  if (items.length > LINES) terminal.print(`and ${items.length - LINES} more → ${all}`);
}

/** None where the service has no such list, or the credential may not see it; an exit code after reporting another failure. */
function itemsOrNone<Item>(listed: CallResult<Listed<Item>>, service: Service): readonly Item[] | ExitCode {
  if (listed.kind === "ok") return itemsIn(listed.value);
  const isHidden = isUnknownOperation(listed) || (listed.kind === "refused" && listed.status === 403);
  return isHidden ? [] : service.failed(listed);
}
