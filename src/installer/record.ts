import { z } from "zod";

import type { Disk } from "./disk.ts";
import { readText } from "./disk.ts";
import { replaceFile } from "./durable.ts";
import { RECORD_FILE } from "./layout.ts";

/** Ours alone are taken away again, so what is ours is written down. */
export interface InstallRecord {
  readonly schema_version: 1;
  readonly version: string;
  /** Folder of the program that `current` leads to, and of the one before it. */
  readonly program: string;
  readonly previous: string | null;
  /** Set by `uninstall` before it takes anything away: an installation over what is left of this one is a first one. */
  readonly removing?: true | undefined;
  /** What was shipped at each path, edited since or not. */
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Folders that were not there before. */
  readonly directories: readonly string[];
}

export const RECORD_MODE = 0o600;
const RECORD_LIMIT_BYTES = 1024 * 1024;
const ENTRY_LIMIT = 2000;

/** Nothing of ours has a path with `..`. */
export const pathSchema = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*[^/\0]$/)
  .refine((path) => !path.split("/").includes(".."));
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/);
/** One folder's name. */
const idSchema = z.string().regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,100}$/);

const recordSchema = z.object({
  schema_version: z.literal(1),
  version: z.string().max(100),
  program: idSchema,
  previous: idSchema.nullable(),
  removing: z.literal(true).optional(),
  files: z.array(z.object({ path: pathSchema, sha256: sha256Schema })).max(ENTRY_LIMIT),
  links: z.array(z.object({ path: pathSchema, target: z.string().max(4096) })).max(ENTRY_LIMIT),
  directories: z.array(pathSchema).max(ENTRY_LIMIT),
});

/** @returns null where nothing was installed; `unreadable` where what is there is no record that this version knows. */
export async function readRecord(disk: Disk): Promise<InstallRecord | "unreadable" | null> {
  const text = await readText(disk, RECORD_FILE, RECORD_LIMIT_BYTES);
  if (text === null) return null;
  const parsed = recordSchema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : "unreadable";
}

/** Durable once it resolves. */
export async function writeRecord(disk: Disk, record: InstallRecord): Promise<void> {
  const access = { mode: RECORD_MODE, user_id: 0, group_id: 0 };
  await replaceFile(disk, RECORD_FILE, [Buffer.from(recordText(record))], access);
}

/** The same record gives the same text, so that a second installation finds nothing to write. */
export function recordText(record: InstallRecord): string {
  const byPath = (a: { readonly path: string }, b: { readonly path: string }) => compare(a.path, b.path);
  const sorted: InstallRecord = {
    ...record,
    files: record.files.toSorted(byPath),
    links: record.links.toSorted(byPath),
    directories: record.directories.toSorted(compare),
  };
  return `${JSON.stringify(sorted, null, 2)}\n`;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** @returns undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
