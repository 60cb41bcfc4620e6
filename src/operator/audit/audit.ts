import { beyondSpec } from "../../api/api.ts";
import type { AuditEntryView } from "../../api/audit.ts";
import { HISTORY_KEPT, type RegistrationRecord } from "../../api/registrations.ts";
import { detailsInWords, subjectOf } from "../../api/words/audit.ts";
import type { CallResult } from "../../client/call-result.ts";
import { isPathParameter } from "../../client/send-request.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { command, type OperatorRow } from "../command.ts";
import { isNothingNamed } from "../failure.ts";
import { type Given, LIST, text, texts } from "../flags.ts";
import { type ListView, showRows } from "../lists/show-list.ts";
import { readMomentFlag, SINCE_FORMS } from "../moments.ts";
import { refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";
import { timeAgo } from "../times.ts";

/** A change or a registration. */
interface Entry {
  readonly at: string;
  /** `RESOURCE.VERB`, as in the service's audit log. */
  readonly what: string;
  readonly subject: string;
  /** Of a change's subject. */
  readonly id: string;
  readonly by: string;
  readonly from: string;
  readonly details: string;
  /** The service's answer, unchanged. */
  readonly document: unknown;
}

type Entries = CallResult<readonly Entry[]>;

const SINCE = "30d";

const AUDIT = {
  since: text("<when>", SINCE_FORMS),
  robot: texts("<robot>", "registrations of this robot that changed something, by name or id; repeatable", {
    names: "robots",
  }),
  ...LIST,
};

/** Who changed what. */
export const auditCommands: readonly OperatorRow[] = [
  command({
    name: "audit",
    summary: "show who changed what",
    flags: AUDIT,
    examples: ["robot-policy audit --since 7d", "robot-policy audit --robot cell-4"],
    run: audit,
  }),
];

/** Changes, newest first; with `--robot` the registrations of robots. */
async function audit(service: Service, { since: given, robot = [] }: Given<typeof AUDIT>): Promise<ExitCode> {
  const { terminal, context } = service;
  const since = readMomentFlag("--since", given ?? SINCE, context);
  if (since === null) return EXIT.usage;
  const strange = robot.find((name) => !isPathParameter(name));
  if (strange !== undefined) return refuseUsage(`'${strange}' is not a valid name or id`, "give a robot", terminal);
  const entries: Entry[] = [];
  for (const { load, newest } of sourcesFor(robot, since.timeMs)) {
    const result = await load(service);
    if (result.kind !== "ok") return service.failed(result);
    const inPeriod = result.value.filter(({ at }) => Date.parse(at) >= since.timeMs);
    if (newest !== undefined && inPeriod.length >= newest.maximum) {
      terminal.note(
        `The service shows no more than the newest ${newest.maximum} ${newest.what}; there may be earlier ones.`,
      );
    }
    // A call has room for about a hundred thousand arguments, and a log can have more entries.
    for (const entry of inPeriod) entries.push(entry);
  }
  entries.sort((left, right) => Date.parse(right.at) - Date.parse(left.at));
  const items = entries.map(({ document }) => document);
  return showRows(service, viewFor(robot), entries, { items });
}

interface Source {
  load(service: Service): Promise<Entries>;
  /** What the service shows the newest of, and how many; undefined where it shows all. */
  readonly newest?: { readonly maximum: number; readonly what: string };
}

function sourcesFor(robot: readonly string[], sinceMs: number): readonly Source[] {
  if (robot.length === 0) return [{ load: (service) => loadChanges(service, sinceMs) }];
  return robot.map((name) => ({
    load: (service) => loadRegistrations(service, name),
    newest: { maximum: HISTORY_KEPT, what: `registrations of ${name}` },
  }));
}

async function loadChanges(service: Service, sinceMs: number): Promise<Entries> {
  const result = await service.listAll(beyondSpec.listAudit, ({ items }) => items, {
    // Newest first. The clocks of replicas may differ, so one older entry alone is not the end.
    isLast: ({ items }) => items.every(({ at }) => Date.parse(at) < sinceMs),
  });
  if (result.kind !== "ok") return result;
  const entries = result.value.records.map(({ value, document }) => entryOfChange(value, document));
  return { ...result, value: entries };
}

/** Empty for a robot that never registered. */
async function loadRegistrations(service: Service, robot: string): Promise<Entries> {
  const result = await service.call(beyondSpec.getRobotHistory, { parameters: { robot } });
  if (result.kind === "ok") {
    return { ...result, value: result.value.value.items.map((record) => entryOfRegistration(record, robot)) };
  }
  return isNothingNamed(result) ? { kind: "ok", status: 200, value: [] } : result;
}

function entryOfChange(entry: AuditEntryView, document: unknown): Entry {
  return {
    ...made(entry.at, entry.actor),
    what: entry.action,
    subject: subjectOf(entry),
    id: entry.subject_id,
    details: detailsInWords(entry),
    document: Object.assign({ kind: "change" }, document),
  };
}

function entryOfRegistration(record: RegistrationRecord, robot: string): Entry {
  return {
    ...made(record.at, record.actor, record.address),
    what: "robot.setup",
    subject: robot,
    details: changedText(record.changed),
    document: { kind: "registration", robot, ...record },
  };
}

function made(at: string, { label, id }: AuditEntryView["actor"], from: string | null = null) {
  return { at, by: label ?? id, from: from ?? "", id: "" };
}

function changedText(changed: RegistrationRecord["changed"]): string {
  if (changed === null) return "first registration";
  return `changed: ${changed.length === 0 ? "nothing" : changed.join(", ")}`;
}

const ENTRIES: ListView<Entry> = {
  headers: ["when", "what", "subject", "by", "from", "details", "id"],
  prose: ["subject", "by", "details"],
  spare: ["from", "id"],
  row({ at, what, subject, by, from, details, id }, now) {
    return [timeAgo(at, now), what, subject, by, from, details, id];
  },
  empty: "Nothing was changed in this period.",
};

function viewFor(robot: readonly string[]): ListView<Entry> {
  if (robot.length === 0) return ENTRIES;
  const empty = `No registration of ${robot.join(", ")} changed anything in this period. For a removed robot, give its id.`;
  return { ...ENTRIES, empty };
}
