import { beyondSpec } from "../../api/api.ts";
import type { AuditEntryView } from "../../api/audit.ts";
import type { RefusalView } from "../../api/refusals.ts";
import type { RegistrationRecord } from "../../api/registrations.ts";
import { detailsInWords, refusalInWords, subjectOf } from "../../api/words/audit.ts";
import type { CallResult } from "../../client/call-result.ts";
import { EXIT } from "../../platform/terminal.ts";
import { relativeTime } from "../../platform/text/relative-time.ts";
import type { OperatorCommand } from "../context.ts";
import { isNothingNamed } from "../failure.ts";
import type { OperatorFlags } from "../flags.ts";
import { type ListView, withColumns } from "../lists/columns.ts";
import { showRows } from "../lists/show-list.ts";
import { readMoment } from "../moments.ts";
import { withService } from "../operator.ts";
import { refuse, refusePathParameter, refuseUsage } from "../refuse.ts";
import type { Service } from "../service.ts";

/** A change, a registration or a refused registration. */
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

/**
 * `audit`: changes and refused registrations, newest first. `--robot` shows accepted and refused registrations of robots, `--refused` only
 * the refused ones.
 */
export const audit: OperatorCommand = async (flags, context) => {
  const { terminal, machine } = context;
  const since = readMoment(flags.since ?? SINCE, "back", machine.clock.wallMs());
  if (since.kind === "no-moment") return refuseUsage(since.what, since.fix, terminal);
  const view = withColumns(flags.refused === true ? REFUSED : ENTRIES, flags);
  if ("code" in view) return refuse(view, EXIT.usage, terminal);
  if ((flags.robot ?? []).some((robot) => refusePathParameter(robot, terminal))) return EXIT.usage;
  return withService(flags, context, async (service) => {
    const entries: Entry[] = [];
    for (const load of sourcesFor(flags)) {
      const result = await load(service);
      if (result.kind !== "ok") return service.failed(result, { missing: MISSING });
      entries.push(...result.value.filter(({ at }) => Date.parse(at) >= since.timeMs));
    }
    entries.sort((left, right) => Date.parse(right.at) - Date.parse(left.at));
    const items = entries.map(({ document }) => document);
    return service.answer({ items }, () => showRows(service, view, entries));
  });
};

const MISSING = ["does not show who changed what", "ask the administrator of the service for its log"] as const;

function sourcesFor({ robot = [], refused }: OperatorFlags): readonly ((service: Service) => Promise<Entries>)[] {
  if (robot.length === 0) {
    const refusals = (service: Service) => loadRefusals(service, {});
    return refused === true ? [refusals] : [loadChanges, refusals];
  }
  return robot.flatMap((name) => {
    const refusals = (service: Service) => loadRefusals(service, { robot: name });
    return refused === true ? [refusals] : [(service: Service) => loadRegistrations(service, name), refusals];
  });
}

async function loadChanges(service: Service): Promise<Entries> {
  const result = await service.listAll(beyondSpec.listAudit, ({ items }) => items);
  if (result.kind !== "ok") return result;
  const entries = result.value.records.map(({ value, document }) => entryOfChange(value, document));
  return { ...result, value: entries };
}

async function loadRefusals(service: Service, query: Readonly<Record<string, string>>): Promise<Entries> {
  const result = await service.call(beyondSpec.listRefusals, { query });
  if (result.kind !== "ok") return result;
  return { ...result, value: result.value.value.items.map(entryOfRefusal) };
}

/** Empty for a robot that never registered; its refused registrations say why. */
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

function entryOfRefusal(refusal: RefusalView): Entry {
  return {
    ...made(refusal.last_at, refusal.actor, refusal.address),
    what: "refused",
    subject: refusal.robot ?? "",
    details: refusalInWords(refusal),
    document: { kind: "refusal", ...refusal },
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
  row({ at, what, subject, by, from, details, id }, nowMs) {
    return [relativeTime(at, nowMs), what, subject, by, from, details, id];
  },
  id: ({ at, what, subject }) => `${at} ${what} ${subject}`,
  empty: "Nothing was changed or refused in this period.",
};
const REFUSED: ListView<Entry> = { ...ENTRIES, empty: "No registration was refused in this period." };
