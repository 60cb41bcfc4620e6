import { API_KEY_LABEL_LENGTH } from "../../../api/keys.ts";
import { ENROLL_SCOPE, GENERAL_SCOPES } from "../../../api/wire/scopes.ts";
import { text } from "../../../api/wire/text.ts";
import { isoTime, systemClock } from "../../../platform/clock.ts";
import { EXIT, type ExitCode, type Problem } from "../../../platform/terminal.ts";
import { commandAuthor } from "../../kernel/store/audit.ts";
import { addKey, createdView, makeKey, type NewKey } from "../../keys/keys.ts";
import { readDateTime } from "../../kernel/validation/date-time.ts";
import { chosenOrganization, type OrganizationFlags } from "../chosen-organization.ts";
import type { CommandContext } from "../command-context.ts";
import { commandLine } from "../command-line.ts";
import { withStore } from "../store/with-store.ts";

export interface KeysCreateFlags extends OrganizationFlags {
  readonly label: string;
  readonly scope?: readonly string[] | undefined;
  readonly expires?: string | undefined;
}

/** `keys create`: prints only the new key on stdout, so that it can be redirected to a file. It is not shown again. */
export async function keysCreate(flags: KeysCreateFlags, { terminal }: CommandContext): Promise<ExitCode> {
  const newKey = readNewKey(flags, systemClock.wallMs());
  if ("code" in newKey) {
    terminal.problem(newKey);
    return EXIT.usage;
  }
  return withStore(flags, terminal, async (opened) => {
    const { store, machine, newId } = opened;
    const organization = await chosenOrganization(store, flags);
    if ("code" in organization) return organization;
    const author = commandAuthor(opened, organization.id);
    const { key, row } = makeKey(
      { ...newKey, organization_id: organization.id },
      newId("key"),
      author.at,
      machine.random,
    );
    await store.write((transaction) => addKey(transaction, row, author));
    const view = createdView(row, key);
    if (flags.json === true) terminal.json(view);
    else terminal.print(key);
    // Also beside JSON: if that output is lost, the id is needed to revoke the key.
    const may = newKey.scopes === null ? "do everything" : `use ${newKey.scopes.join(", ")}`;
    const until = newKey.expires_at === null ? "it is revoked" : newKey.expires_at;
    terminal.note(`${row.id} of ${organization.name} may ${may} until ${until}. The key is not shown again.`);
    terminal.note(`If it is lost: ${commandLine(`keys revoke ${row.id}`, flags)}`);
    return EXIT.ok;
  });
}

function readNewKey(
  { label, scope, expires }: KeysCreateFlags,
  nowMs: number,
): Omit<NewKey, "organization_id"> | Problem {
  if (!text({ minimum: 1, ...API_KEY_LABEL_LENGTH }).safeParse(label).success) {
    const what = `a label has 1 to ${API_KEY_LABEL_LENGTH.maximum} characters`;
    return { code: "usage", what, where: "--label", fix: "describe the use of the key, such as --label 'arm 3'" };
  }
  const expiry = expires === undefined ? null : readExpiry(expires, nowMs);
  if (expiry !== null && expiry.state !== "read") {
    return { code: "usage", what: expiry.what, where: `--expires ${expires}`, fix: EXPIRY_FIX };
  }
  const scopes = scope === undefined ? null : GENERAL_SCOPES.filter((known) => scope.includes(known));
  const unknown = scope?.find((name) => !GENERAL_SCOPES.some((known) => known === name));
  if (unknown !== undefined) {
    const repeat = unknown.includes(",") ? "repeat the flag for each: --scope A --scope B; " : "";
    if (unknown === ENROLL_SCOPE) {
      const fix = "an operator makes it: robot-policy keys create --enroll --uses N --expires 7d";
      return {
        code: "usage",
        what: "this command cannot create a key for enrolments",
        where: `--scope ${unknown}`,
        fix,
      };
    }
    const fix = `${repeat}the scopes are ${GENERAL_SCOPES.join(", ")}`;
    return { code: "usage", what: "there is no such scope", where: `--scope ${unknown}`, fix };
  }
  return { label, scopes, expires_at: expiry?.at ?? null };
}

const EXPIRY_FIX =
  "give a day, 2030-01-31 (UTC), a time with its zone, 2030-01-31T08:00:00Z, or a duration from now: 90d, 12h, 30m";

const UNITS_MS = { d: 24 * 60 * 60 * 1000, h: 60 * 60 * 1000, m: 60 * 1000 } as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DURATION = /^(\d{1,6})([dhm])$/;
/** A later expiry is probably a mistake. Also keeps years at four digits, so that times sort as texts. */
const LATEST_MS = 100 * 365 * UNITS_MS.d;

type Expiry =
  /** `at`: ISO 8601 in UTC with milliseconds. */
  | { readonly state: "read"; readonly at: string }
  /** `what`: one sentence. */
  | { readonly state: "refused"; readonly what: string };

/** The value of `--expires`: the start of a day in UTC, a time with its zone, or a duration from now, such as `90d`, `12h`, `30m`. */
export function readExpiry(text: string, nowMs: number): Expiry {
  const expiresMs = readTime(text, nowMs);
  if (expiresMs === null) return { state: "refused", what: "this is not a time" };
  if (expiresMs <= nowMs) return { state: "refused", what: "this time is not in the future" };
  if (expiresMs > nowMs + LATEST_MS) return { state: "refused", what: "this is more than 100 years away" };
  return { state: "read", at: isoTime(expiresMs) };
}

function readTime(text: string, nowMs: number): number | null {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (unit === "d" || unit === "h" || unit === "m") return nowMs + Number(count) * UNITS_MS[unit];
  const read = /^\d{4}-/.test(text) ? readDateTime(text) : null;
  return read !== null && "value" in read && (read.value.hasOffset || DAY.test(text)) ? read.value.epochMs : null;
}
