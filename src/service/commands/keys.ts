import { API_KEY_LABEL_LENGTH } from "../../api/keys.ts";
import { ENROLL_SCOPE, GENERAL_SCOPES } from "../../api/wire/scopes.ts";
import { text } from "../../api/wire/text.ts";
import { isoTime, systemClock } from "../../platform/clock.ts";
import { EXIT, type ExitCode, type Problem } from "../../platform/terminal.ts";
import { isAnswer } from "../kernel/http/answers.ts";
import { commandAuthor } from "../kernel/store/audit.ts";
import type { Reader } from "../kernel/store/store.ts";
import { readDateTime } from "../kernel/validation/date-time.ts";
import {
  countEndingWith,
  findKeyOrganization,
  addKey,
  createdView,
  keyView,
  makeKey,
  type NewKey,
  revokeKey,
} from "../keys/keys.ts";
import { findOrganization, listOrganizations, type OrganizationRow } from "../organizations/organizations.ts";
import { type CommandContext, type CommandFlags, commandLine, showProblem, withStore } from "./command.ts";

interface KeysCreateFlags extends CommandFlags {
  readonly label: string;
  /** Name or id; optional if there is only one organization. */
  readonly org?: string | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly expires?: string | undefined;
}

/** `keys create`: prints only the new key on stdout, so that it can be redirected to a file. It is not shown again. */
export async function keysCreate(flags: KeysCreateFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const newKey = readNewKey(flags, systemClock.wallMs());
  if ("code" in newKey) return showProblem(newKey, terminal);
  return withStore(flags, terminal, async (opened) => {
    const { store, machine, newId } = opened;
    const organization = await chosenOrganization(store.reader, flags);
    if ("code" in organization) return organization;
    const author = commandAuthor(opened, organization.id);
    const { key, row } = makeKey(
      { ...newKey, organization_id: organization.id },
      newId("key"),
      author.at,
      machine.random,
    );
    await store.write((transaction) => addKey(transaction, row, author));
    if (flags.json === true) terminal.json(createdView(row, key));
    else terminal.print(key);
    // Also beside JSON: if that output is lost, the id is needed to revoke the key.
    const may = newKey.scopes === null ? "do everything" : `use ${newKey.scopes.join(", ")}`;
    const until = newKey.expires_at === null ? "it is revoked" : newKey.expires_at;
    terminal.note(`${row.id} of ${organization.name} may ${may} until ${until}. The key is not shown again.`);
    terminal.note(`If it is lost: ${commandLine(`keys revoke ${row.id}`, flags)}`);
    return EXIT.ok;
  });
}

/** The organization of `--org`, or without that flag the only one. */
async function chosenOrganization(reader: Reader, flags: KeysCreateFlags): Promise<OrganizationRow | Problem> {
  const { org } = flags;
  const list = commandLine("orgs list", flags);
  if (org !== undefined) {
    const what = "there is no such organization";
    const unknown = { code: "organization-unknown", what, where: org, fix: `list the organizations: ${list}` };
    return (await findOrganization(reader, org)) ?? unknown;
  }
  const [only, ...others] = await listOrganizations(reader);
  if (only === undefined) {
    const fix = `create one: ${commandLine("orgs create NAME", flags)}`;
    return { code: "no-organization", what: "there is no organization yet", fix };
  }
  if (others.length === 0) return only;
  return {
    code: "organization-ambiguous",
    what: `there are ${others.length + 1} organizations, and none is selected`,
    fix: `select one with --org NAME or --org ID; list them: ${list}`,
  };
}

function readNewKey(
  { label, scope, expires }: KeysCreateFlags,
  nowMs: number,
): Omit<NewKey, "organization_id"> | Problem {
  if (!text({ minimum: 1, ...API_KEY_LABEL_LENGTH }).safeParse(label).success) {
    const what = `a label has 1 to ${API_KEY_LABEL_LENGTH.maximum} characters`;
    return { code: "usage", what, where: "--label", fix: "describe the use of the key, such as --label 'arm 3'" };
  }
  const expiresAt = expires === undefined ? null : readExpiry(expires, nowMs);
  if (expires !== undefined && expiresAt === null) {
    const what = "this is not a time in the next 100 years";
    return { code: "usage", what, where: `--expires ${expires}`, fix: EXPIRY_FIX };
  }
  const unknown = scope?.find((name) => !GENERAL_SCOPES.some((known) => known === name));
  if (unknown !== undefined) {
    const fix =
      unknown === ENROLL_SCOPE
        ? "an operator makes a key for enrolments: robot-policy keys create --enroll --uses N --expires 7d"
        : `repeat the flag for each; the scopes are ${GENERAL_SCOPES.join(", ")}`;
    return { code: "usage", what: "a key cannot have this scope", where: `--scope ${unknown}`, fix };
  }
  const scopes = scope === undefined ? null : GENERAL_SCOPES.filter((known) => scope.includes(known));
  return { label, scopes, expires_at: expiresAt };
}

const EXPIRY_FIX =
  "give a day, 2030-01-31 (UTC), a time with its zone, 2030-01-31T08:00:00Z, or a duration from now: 90d, 12h, 30m";

const UNITS_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000, m: 60 * 1000 } as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DURATION = /^(\d{1,6})([dhm])$/;
/** A later expiry is probably a mistake. Also keeps years at four digits, so that times sort as texts. */
const LATEST_MS = 100 * 365 * UNITS_MS.d;

/**
 * The value of `--expires`, in ISO 8601: the start of a day in UTC, a time with its zone, or a duration from now, such as `90d`, `12h`, `30m`.
 * Null for anything else, a time that is past, and one that is more than 100 years away.
 */
export function readExpiry(written: string, nowMs: number): string | null {
  const expiresMs = readTime(written, nowMs);
  return expiresMs === null || expiresMs <= nowMs || expiresMs > nowMs + LATEST_MS ? null : isoTime(expiresMs);
}

function readTime(written: string, nowMs: number): number | null {
  const [, count, unit] = DURATION.exec(written) ?? [];
  if (unit === "d" || unit === "h" || unit === "m") return nowMs + Number(count) * UNITS_MS[unit];
  const read = /^\d{4}-/.test(written) ? readDateTime(written) : null;
  return read !== null && "value" in read && (read.value.hasOffset || DAY.test(written)) ? read.value.epochMs : null;
}

function keysInWords(count: number): string {
  return `${count} ${count === 1 ? "key" : "keys"} made with it`;
}

interface KeysRevokeFlags extends CommandFlags {
  /** Also revoke the keys that depend on it. */
  readonly yes?: boolean;
}

/** `keys revoke ID`: running services refuse the key from the next request on. */
export async function keysRevoke(flags: KeysRevokeFlags, { terminal }: CommandContext, id = ""): Promise<ExitCode> {
  return withStore(flags, terminal, async (opened) => {
    const { store } = opened;
    const fix = "list the keys with a key of the organization: robot-policy keys list";
    const unknown = { code: "key-unknown", what: "there is no key with this id", where: id, fix };
    const organizationId = await findKeyOrganization(store.reader, id);
    if (organizationId === undefined) return unknown;
    const author = commandAuthor(opened, organizationId);
    const revocation = await store.write(async (transaction) => {
      const others = flags.yes === true ? 0 : await countEndingWith(transaction, organizationId, id, author.at);
      if (others > 0) return { others };
      return revokeKey(transaction, organizationId, id, null, author);
    });
    if ("others" in revocation) {
      const what = `revoking this key also ends ${keysInWords(revocation.others)}`;
      terminal.problem({ code: "keys-end-too", what, where: id, fix: `${fix}; give --yes to revoke all of them` });
      return EXIT.usage;
    }
    if (isAnswer(revocation)) return unknown;
    const { key, changed, keysEnded, isLockedOut } = revocation;
    if (flags.json === true) terminal.json(keyView(key));
    else if (changed) {
      const others = keysEnded === 0 ? "" : `, and ${keysInWords(keysEnded)}`;
      terminal.note(`Revoked ${key.id} (${key.label})${others}.`);
    } else terminal.note(`${key.id} was revoked at ${key.revoked_at ?? ""}.`);
    if (isLockedOut) {
      const next = commandLine(`keys create --label TEXT --org ${organizationId}`, flags);
      terminal.note(`No key of its organization may do everything any more. Create one: ${next}`);
    }
    return EXIT.ok;
  });
}
