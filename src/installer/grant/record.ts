import * as z from "zod";

import { readBounded, removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { lockFolder } from "../../platform/files/flock.ts";
import type { RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { findLockProblem } from "../errors.ts";

export interface GrantMachine {
  readonly files: Files;
  readonly runProgram: RunProgram;
}

/** Only root can open the folder, so no other user can hold its lock. */
const DIRECTORY_MODE = 0o700;
const RECORD_LIMIT_BYTES = 4 * 1024 * 1024;
const ENTRY_LIMIT = 4096;

const pathSchema = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/);
const idSchema = z.int().min(0).max(0xff_ff_ff_fe);

/** An entry of the file system whose access list names the user since the grant. The package's postrm reads `path` and `new_files`, in this order. */
const entrySchema = z.object({
  path: pathSchema,
  new_files: z.enum(["none", "added", "created"]),
  user_id: idSchema,
  /** What the user's own entry gave before, as `r-x`. */
  right_before: z.string().regex(/^[r-][w-][x-]$/),
});

/** What was granted and not revoked yet. Written before the first change. */
const recordSchema = z.object({
  schema_version: z.literal(1),
  entries: z.array(entrySchema).max(ENTRY_LIMIT).readonly(),
  /** The drop-in of the unit that runs the agent as another user, and the API key's file, which that user got with it. */
  owner: z
    .object({
      drop_in: pathSchema,
      text: z.string().max(4096),
      key: z.object({ path: pathSchema, from_user_id: idSchema, to_user_id: idSchema }).nullable(),
    })
    .nullable(),
});

export type GrantedEntry = Readonly<z.output<typeof entrySchema>>;
export type GrantRecord = Readonly<z.output<typeof recordSchema>>;
export type OwnerGrant = Readonly<NonNullable<GrantRecord["owner"]>>;

export const EMPTY_RECORD: GrantRecord = { schema_version: 1, entries: [], owner: null };

function pathIn(directory: string): string {
  return `${directory}/grants.json`;
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

/** @returns a problem for a record that this version cannot read. @throws Node system errors except ENOENT. */
export async function readGrantRecord(files: Files, directory: string): Promise<GrantRecord | Problem> {
  const where = pathIn(directory);
  try {
    const bytes = await readBounded(files, where, RECORD_LIMIT_BYTES);
    const text = bytes === "too-large" ? "" : Buffer.from(bytes).toString("utf8");
    const parsed = recordSchema.safeParse(parseJson(text));
    if (parsed.success) return parsed.data;
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return EMPTY_RECORD;
  }
  const what = "this version cannot read the record of what was granted";
  return { code: "grant-record-unknown", what, where, fix: "use the version of the agent that wrote it" };
}

/** @throws Node system errors. */
export async function writeGrantRecord(files: Files, directory: string, record: GrantRecord): Promise<void> {
  if (record.entries.length === 0 && record.owner === null) {
    await removeIfPresent(files, pathIn(directory));
    return;
  }
  await files.makeDirectory(directory, DIRECTORY_MODE);
  await replaceDurably(files, pathIn(directory), Buffer.from(`${JSON.stringify(record, null, 2)}\n`), 0o600);
}
