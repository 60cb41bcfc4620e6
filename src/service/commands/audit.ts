import { EXIT } from "../../platform/terminal.ts";
import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { readAudit } from "../audit/queries.ts";
import type { AuditRow } from "../audit/queries.ts";
import { showRefused } from "./audit-refused.ts";
import { chosenOrganization } from "./chosen-organization.ts";
import { commandMachine } from "./command-machine.ts";
import type { CommandContext } from "./serve/serve.ts";
import type { StoreFlags } from "./store/locate-store.ts";
import { withStore } from "./store/with-store.ts";

export interface AuditFlags extends StoreFlags {
  /** A date, a date-time, or a time span back from now such as `2h`. */
  readonly since?: string;
  readonly limit?: string;
  /** Name or id; all organizations, and what belongs to none, when left out. */
  readonly org?: string | undefined;
  readonly subject?: string;
  readonly actor?: string;
  readonly action?: string;
  /** Refused registrations, in the place of changes. */
  readonly refused?: boolean;
  readonly json?: boolean;
}

const LIMIT = { standard: 100, maximum: 100_000 } as const;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T.*)?$/;
const SPAN = /^(\d{1,5})([mhd])$/;
const SPAN_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `audit`: who changed what, newest last; with `--refused` the registrations that were refused. Works beside a running service. */
export async function audit(flags: AuditFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const machine = commandMachine();
  const since = readSince(flags.since, machine.clock.wallMs());
  const limit = readLimit(flags.limit);
  if (since === undefined || limit === null) {
    terminal.problem(since === undefined ? notATime(flags.since ?? "") : notALimit(flags.limit ?? ""));
    return EXIT.usage;
  }
  const json = flags.json === true;
  const isRefused = flags.refused === true;
  if (isRefused && (flags.subject ?? flags.actor ?? flags.action) !== undefined) {
    terminal.problem(NOT_OF_REFUSALS);
    return EXIT.usage;
  }
  return withStore(flags, machine, terminal, async (store) => {
    const organization = flags.org === undefined && !isRefused ? null : await chosenOrganization(store, flags);
    if (organization !== null && "code" in organization) {
      terminal.problem(organization);
      return EXIT.failed;
    }
    if (isRefused && organization !== null) {
      await showRefused(store.reader, { organization_id: organization.id, since, limit, json }, terminal);
      return EXIT.ok;
    }
    const filter = {
      organization_id: organization?.id,
      subject_id: flags.subject,
      actor: flags.actor,
      action: flags.action,
    };
    const entries = (await readAudit(store.reader, since, limit, filter)).toReversed();
    if (json) {
      terminal.json({ items: entries.map((entry) => ({ ...entry, details: detailsOf(entry) })) });
    } else if (entries.length === 0) {
      terminal.note("There is no such entry in the audit log.");
    } else {
      terminal.table(HEADERS, entries.map(toCells));
    }
    return EXIT.ok;
  });
}

const HEADERS = ["AT", "ACTION", "SUBJECT", "ACTOR", "ORGANIZATION", "REQUEST", "DETAILS"] as const;

function toCells(entry: AuditRow): readonly string[] {
  const details = Object.entries(detailsOf(entry)).map(([name, value]) => `${name}=${String(value)}`);
  const { at, action, subject_id: subjectId, actor, organization_id: organizationId, request_id: requestId } = entry;
  return [at, action, subjectId, actor, organizationId ?? "-", requestId ?? "-", details.join(" ")];
}

function detailsOf({ details }: AuditRow): object {
  const parsed: unknown = JSON.parse(details);
  return typeof parsed === "object" && parsed !== null ? parsed : {};
}

/** ISO 8601; null where nothing is asked, undefined for what is no time. */
function readSince(text: string | undefined, nowMs: number): string | null | undefined {
  if (text === undefined) return null;
  const atMs = spanBefore(text, nowMs) ?? (DATE.test(text) ? Date.parse(text) : Number.NaN);
  return Number.isNaN(atMs) ? undefined : new Date(atMs).toISOString();
}

function spanBefore(text: string, nowMs: number): number | undefined {
  const [, count, unit] = SPAN.exec(text) ?? [];
  return unit === "m" || unit === "h" || unit === "d" ? nowMs - Number(count) * SPAN_MS[unit] : undefined;
}

function readLimit(text: string | undefined): number | null {
  if (text === undefined) return LIMIT.standard;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= LIMIT.maximum ? limit : null;
}

const NOT_OF_REFUSALS: Problem = {
  code: "usage",
  what: "Refused registrations are not chosen by --subject, --actor or --action.",
  fix: "Leave them out, or leave out --refused for the changes.",
};

function notATime(text: string): Problem {
  return {
    code: "usage",
    what: "This is no time.",
    where: `--since ${text}`,
    fix: "Write for example --since 2026-01-31, --since 2026-01-31T08:00:00Z, or --since 2h for the last two hours.",
  };
}

function notALimit(text: string): Problem {
  return {
    code: "usage",
    what: `The limit is not a whole number from 1 to ${LIMIT.maximum}.`,
    where: `--limit ${text}`,
    fix: "Write for example --limit 1000.",
  };
}
