import { z } from "zod";

import { readBounded, removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { lockFolder } from "../../platform/files/flock.ts";
import type { RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { findLockProblem } from "../lock-problem.ts";

/** Only root can open the folder, so no other user can hold its lock. */
const DIRECTORY_MODE = 0o700;
const RECORD_NAME = "grants.json";
const RECORD_LIMIT_BYTES = 4 * 1024 * 1024;
const ENTRY_LIMIT = 4096;

const pathSchema = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/);
const idSchema = z.int().min(0).max(0xff_ff_ff_fe);
const textSchema = z.string().max(65_536);
/** An access list that `grant` changed, as getfacl printed it before and after. */
const entrySchema = z.object({ path: pathSchema, user_id: idSchema, before: textSchema, after: textSchema });

/** What was granted and not revoked yet. Written before the first change. */
const recordSchema = z.object({
  schema_version: z.literal(1),
  entries: z.array(entrySchema).max(ENTRY_LIMIT).readonly(),
  drop_in: z.object({ path: pathSchema, text: textSchema }).nullable(),
  /** A file whose owner became the user of the drop-in. */
  given: z
    .object({ path: pathSchema, from_user_id: idSchema, from_group_id: idSchema, to_user_id: idSchema })
    .nullable(),
});

export type GrantedEntry = Readonly<z.output<typeof entrySchema>>;
export type GrantRecord = Readonly<z.output<typeof recordSchema>>;

export const EMPTY_RECORD: GrantRecord = { schema_version: 1, entries: [], drop_in: null, given: null };

export function grantRecordPath(directory: string): string {
  return `${directory}/${RECORD_NAME}`;
}

/**
 * Locks the record, so that one command at a time changes it and what it names.
 *
 * @returns a problem when another command holds the lock. @throws Node system errors.
 */
export async function lockGrantRecord(
  files: Files,
  directory: string,
): Promise<{ readonly problem: Problem | null } & AsyncDisposable> {
  await files.makeDirectory(directory, DIRECTORY_MODE);
  const lock = await lockFolder(directory);
  return { ...lock, problem: findLockProblem(lock, "grant or uninstall", directory) };
}

/** @returns null for a record that this version cannot read. @throws Node system errors except ENOENT. */
export async function readGrantRecord(files: Files, directory: string): Promise<GrantRecord | null> {
  try {
    const bytes = await readBounded(files, grantRecordPath(directory), RECORD_LIMIT_BYTES);
    if (bytes === "too-large") return null;
    const parsed = recordSchema.safeParse(parseJson(Buffer.from(bytes).toString("utf8")));
    return parsed.success ? parsed.data : null;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return EMPTY_RECORD;
    throw error;
  }
}

/** @throws Node system errors. */
export async function writeGrantRecord(files: Files, directory: string, record: GrantRecord): Promise<void> {
  const path = grantRecordPath(directory);
  if (record.entries.length === 0 && record.drop_in === null && record.given === null) {
    await removeIfPresent(files, path);
    return;
  }
  await files.makeDirectory(directory, DIRECTORY_MODE);
  await replaceDurably(files, path, Buffer.from(`${JSON.stringify(record, null, 2)}\n`), 0o600);
}

/**
 * Keeps the oldest `before` of a list, so that a revocation after several grants restores the original. A list that somebody changed
 * between two grants keeps its first entry: it differs from its `after`, so a revocation removes the agent's entry and restores nothing.
 */
export function addEntries(record: GrantRecord, added: readonly GrantedEntry[]): GrantRecord {
  const entries = new Map(record.entries.map((entry) => [keyOf(entry), entry]));
  for (const entry of added) {
    const known = entries.get(keyOf(entry)) ?? { before: entry.before, after: entry.before };
    if (known.after === entry.before) entries.set(keyOf(entry), { ...entry, before: known.before });
  }
  return { ...record, entries: [...entries.values()] };
}

function keyOf({ path, user_id: userId }: GrantedEntry): string {
  return `${userId} ${path}`;
}

export interface GrantMachine {
  readonly files: Files;
  readonly runProgram: RunProgram;
}
