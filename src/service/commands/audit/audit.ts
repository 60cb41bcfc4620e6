import { refusalInWords } from "../../../api/words/audit.ts";
import { systemClock } from "../../../platform/clock.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../../platform/terminal.ts";
import { detailsOf } from "../../audit/operations.ts";
import { type AuditRow, readAudit } from "../../audit/queries.ts";
import type { Reader } from "../../kernel/store/store.ts";
import { viewRefusal } from "../../robots/refusals/operations.ts";
import { listRefusals } from "../../robots/refusals/queries.ts";
import { chosenOrganization, type OrganizationFlags } from "../chosen-organization.ts";
import type { CommandContext } from "../command-context.ts";
import { readSince } from "../moment.ts";
import { withStore } from "../store/with-store.ts";

/** Without `--org`, changes of all organizations and of none. */
interface AuditFlags extends OrganizationFlags {
  /** A date, a date-time, or a duration before now such as `2h`. */
  readonly since?: string;
  readonly limit?: string;
  readonly subject?: string;
  readonly actor?: string;
  readonly action?: string;
  /** Show refused registrations instead of changes. */
  readonly refused?: boolean;
}

const LIMIT = { standard: 100, maximum: 100_000 } as const;

/** `audit`: who changed what, newest last; with `--refused` the refused registrations. Works while a service runs. */
export async function audit(flags: AuditFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const asked = readFlags(flags);
  if ("code" in asked) {
    terminal.problem(asked);
    return EXIT.usage;
  }
  const { since, limit } = asked;
  const isJson = flags.json === true;
  return withStore(flags, terminal, async ({ store: { reader } }) => {
    const isOfAll = flags.org === undefined && flags.refused !== true;
    const organization = isOfAll ? null : await chosenOrganization({ reader }, flags);
    if (organization !== null && "code" in organization) return organization;
    if (flags.refused === true && organization !== null) {
      await showRefused(reader, organization.id, asked, isJson, terminal);
      return EXIT.ok;
    }
    const { subject: subjectId, actor, action } = flags;
    const filter = { organization_id: organization?.id, subject_id: subjectId, actor, action };
    const entries = (await readAudit(reader, since, limit, filter)).toReversed();
    if (isJson) terminal.json({ items: entries.map((entry) => ({ ...entry, details: detailsOf(entry) })) });
    else if (entries.length === 0) terminal.note("There is no such entry in the audit log.");
    else terminal.table(HEADERS, entries.map(toCells));
    return EXIT.ok;
  });
}

const HEADERS = ["AT", "ACTION", "SUBJECT", "ACTOR", "ORGANIZATION", "REQUEST", "DETAILS"] as const;

function toCells(entry: AuditRow): readonly string[] {
  const details = Object.entries(detailsOf(entry)).map(([name, value]) => `${name}=${String(value)}`);
  const { at, action, subject_id: subjectId, actor, organization_id: organizationId, request_id: requestId } = entry;
  return [at, action, subjectId, actor, organizationId ?? "-", requestId ?? "-", details.join(" ")];
}

interface Asked {
  /** ISO 8601; null for no bound. */
  readonly since: string | null;
  readonly limit: number;
}

function readFlags(flags: AuditFlags): Asked | Problem {
  const since = flags.since === undefined ? null : readSince(flags.since, systemClock.wallMs());
  if (flags.since !== undefined && since === null) {
    return {
      code: "usage",
      what: "this is not a time",
      where: `--since ${flags.since}`,
      fix: "write for example --since 2026-01-31, --since 2026-01-31T08:00:00Z, or --since 2h for the last two hours",
    };
  }
  const { limit: written = String(LIMIT.standard) } = flags;
  const limit = /^\d{1,6}$/.test(written) ? Number(written) : 0;
  if (limit < 1 || limit > LIMIT.maximum) {
    return {
      code: "usage",
      what: `the limit is not a whole number from 1 to ${LIMIT.maximum}`,
      where: `--limit ${written}`,
      fix: "write for example --limit 1000",
    };
  }
  if (flags.refused === true && (flags.subject ?? flags.actor ?? flags.action) !== undefined) {
    return {
      code: "usage",
      what: "--refused cannot be combined with --subject, --actor or --action",
      fix: "omit those, or omit --refused to see the changes",
    };
  }
  return { since, limit };
}

/** `audit --refused`: refused registrations of an organization, newest last. */
async function showRefused(
  reader: Reader,
  organizationId: string,
  { since, limit }: Asked,
  isJson: boolean,
  terminal: Terminal,
): Promise<void> {
  const newest = (await listRefusals(reader, organizationId, undefined))
    .filter(({ last_at: lastAt }) => since === null || lastAt >= since)
    .slice(0, limit);
  const refusals = newest.toReversed().map(viewRefusal);
  if (isJson) terminal.json({ items: refusals });
  else if (refusals.length === 0) terminal.note("No registration was refused in this time.");
  else {
    const rows = refusals.map((refusal) => {
      const { last_at: lastAt, robot, actor, address } = refusal;
      return [lastAt, robot ?? "-", refusalInWords(refusal), actor.label ?? actor.id, address];
    });
    terminal.table(["AT", "ROBOT", "REASON", "KEY", "FROM"], rows, ["ROBOT", "REASON", "KEY"]);
  }
}
