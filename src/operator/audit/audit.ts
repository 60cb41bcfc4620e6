import { beyondSpec } from "../../api/api.ts";
import { HISTORY_KEPT } from "../../api/registrations.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isPathParameter } from "../../client/send-request.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { AUDIT, auditItem, type AuditItem, isSignIn, registrationItem } from "../../views/audit.ts";
import { command, type OperatorRow } from "../command.ts";
import { isNothingNamed } from "../failure.ts";
import { CSV, type Given, LIST, onOff, text, texts } from "../flags.ts";
import { showRows } from "../lists/show-list.ts";
import { type ListView, tableOf } from "../lists/shown.ts";
import { readTimeFlag, SINCE_FORMS } from "../times.ts";
import { refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";

/** What is shown, and the service's answer for it. */
interface Entry {
  readonly item: AuditItem;
  readonly document: unknown;
}

const FLAGS = {
  since: text("<when>", SINCE_FORMS),
  until: text("<when>", "end, in the same formats (default: now)"),
  by: text("<actor>", "only what this key, session or robot did, by label, name or id"),
  signIns: onOff("also show who signed in and out", { excludes: ["--robot"] }),
  robot: texts("<robot>", "registrations of this robot that changed something, by name or id; repeatable", {
    names: "robots",
  }),
  ...CSV,
  ...LIST,
};

/** Who changed what. */
export const auditCommands: readonly OperatorRow[] = [
  command({
    name: "audit",
    summary: "show who changed what",
    flags: FLAGS,
    examples: [
      "robot-policy audit --since 7d",
      "robot-policy audit --since 2026-10-01 --until 2026-11-01 --by 'line 4' --csv > october.csv",
      "robot-policy audit --robot cell-4",
    ],
    run: audit,
  }),
];

/** Changes, newest first; with `--robot` the registrations of robots. */
async function audit(service: Service, flags: Given<typeof FLAGS>): Promise<ExitCode> {
  const { terminal, context } = service;
  const { robot = [], by, signIns = false } = flags;
  const since = readTimeFlag("--since", flags.since ?? "30d", context);
  const until = flags.until === undefined ? undefined : readTimeFlag("--until", flags.until, context);
  if (since === null || until === null) return EXIT.usage;
  const untilMs = until?.timeMs ?? Number.POSITIVE_INFINITY;
  if (since.timeMs >= untilMs) {
    return refuseUsage("--since is not before --until", "give the earlier time to --since", terminal);
  }
  const strange = robot.find((name) => !isPathParameter(name));
  if (strange !== undefined) return refuseUsage(`'${strange}' is not a valid name or id`, "give a robot", terminal);
  const isShown = ({ item }: Entry) => {
    const atMs = Date.parse(item.at);
    const isBy = by === undefined || by === item.by || by === item.actor_id;
    return atMs >= since.timeMs && atMs < untilMs && isBy && (signIns || !isSignIn(item));
  };
  const entries: Entry[] = [];
  for (const name of robot.length === 0 ? [null] : robot) {
    const result = await (name === null ? loadChanges(service, since.timeMs) : loadRegistrations(service, name));
    if (result.kind !== "ok") return service.failed(result);
    if (name !== null && result.value.filter(isShown).length >= HISTORY_KEPT) {
      const shows = `The service shows no more than the newest ${HISTORY_KEPT} registrations of ${name}`;
      terminal.note(`${shows}; there may be earlier ones.`);
    }
    // A call has room for about a hundred thousand arguments, and a log can have more entries.
    for (const entry of result.value) if (isShown(entry)) entries.push(entry);
  }
  entries.sort((left, right) => Date.parse(right.item.at) - Date.parse(left.item.at));
  const items = entries.map(({ item }) => item);
  return showRows(service, viewFor(robot), items, { items: entries.map(({ document }) => document) });
}

type Entries = CallResult<readonly Entry[]>;

async function loadChanges(service: Service, sinceMs: number): Promise<Entries> {
  const result = await service.listAll(beyondSpec.listAudit, ({ items }) => items, {
    // Newest first. The clocks of replicas may differ, so one older entry alone is not the end.
    isLast: ({ items }) => items.every(({ at }) => Date.parse(at) < sinceMs),
  });
  if (result.kind !== "ok") return result;
  const entries = result.value.records.map(({ value, document }) => ({
    item: auditItem(value),
    document: Object.assign({ kind: "change" }, document),
  }));
  return { ...result, value: entries };
}

/** Empty for a robot that never registered. */
async function loadRegistrations(service: Service, robot: string): Promise<Entries> {
  const result = await service.call(beyondSpec.getRobotHistory, { parameters: { robot } });
  if (result.kind !== "ok") return isNothingNamed(result) ? { kind: "ok", status: 200, value: [] } : result;
  const entries = result.value.value.items.map((record) => ({
    item: registrationItem(record, robot),
    document: { kind: "registration", robot, ...record },
  }));
  return { ...result, value: entries };
}

function viewFor(robot: readonly string[]): ListView<AuditItem> {
  const view = tableOf(AUDIT);
  if (robot.length === 0) return view;
  const empty = `No registration of ${robot.join(", ")} changed anything in this period. For a removed robot, give its id.`;
  return { ...view, empty };
}
