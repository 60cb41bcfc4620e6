import { dirname } from "node:path";

import { z } from "zod";

import type { Disk } from "./disk.ts";
import { readText } from "./disk.ts";
import { removeEmptyDirectory, removeIfPresent, replaceFile, temporaryPath } from "./durable.ts";
import { JOURNAL_FILE, RECORD_FOLDER } from "./layout.ts";
import { parseJson, pathSchema } from "./record.ts";
import type { Step } from "./step.ts";

/** How one step is taken back. What it changed is found out by looking: a step may have been done, begun, or not even that. */
export type Undo =
  | { readonly kind: "directory"; readonly path: string }
  /** `sha256` is of what was written; what was there before lies at `backupPath`. */
  | { readonly kind: "file"; readonly path: string; readonly sha256: string; readonly replaced: boolean }
  | {
      readonly kind: "access";
      readonly path: string;
      readonly mode: number;
      readonly user_id: number;
      readonly group_id: number;
    }
  | { readonly kind: "link"; readonly path: string; readonly target: string; readonly was: string | null }
  | { readonly kind: "user" }
  | { readonly kind: "units" }
  | { readonly kind: "enabled" | "started" | "restarted"; readonly unit: string };

/** Written before the first step and removed after the last, so that whoever finds one knows what was cut short. */
export interface Journal {
  readonly schema_version: 1;
  readonly version: string;
  /** `done`: every step is; what is left of it are backups. */
  readonly phase: "applying" | "done";
  readonly undo: readonly Undo[];
}

const JOURNAL_LIMIT_BYTES = 1024 * 1024;
const STEP_LIMIT = 2000;
const BACKUP_SUFFIX = ".robot-policy-agent-before";
const RECORD_FOLDER_ACCESS = { mode: 0o700, user_id: 0, group_id: 0 };
const JOURNAL_ACCESS = { mode: 0o600, user_id: 0, group_id: 0 };

const unitSchema = z.string().regex(/^[\w@.-]{1,255}$/);
const idSchema = z.int().min(0).max(0xffff_ffff);
const undoSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("directory"), path: pathSchema }),
  z.object({ kind: z.literal("file"), path: pathSchema, sha256: z.string(), replaced: z.boolean() }),
  z.object({
    kind: z.literal("access"),
    path: pathSchema,
    mode: z.int().min(0).max(0o7777),
    user_id: idSchema,
    group_id: idSchema,
  }),
  z.object({
    kind: z.literal("link"),
    path: pathSchema,
    target: z.string().max(4096),
    was: z.string().max(4096).nullable(),
  }),
  z.object({ kind: z.literal("user") }),
  z.object({ kind: z.literal("units") }),
  z.object({ kind: z.enum(["enabled", "started", "restarted"]), unit: unitSchema }),
]);
const journalSchema = z.object({
  schema_version: z.literal(1),
  version: z.string().max(100),
  phase: z.enum(["applying", "done"]),
  undo: z.array(undoSchema).max(STEP_LIMIT),
});

export function backupPath(path: string): string {
  return path + BACKUP_SUFFIX;
}

/** @returns `unreadable` where what is there is no journal that this version knows. */
export async function readJournal(disk: Disk): Promise<Journal | "unreadable" | null> {
  const text = await readText(disk, JOURNAL_FILE, JOURNAL_LIMIT_BYTES);
  if (text === null) return null;
  const parsed = journalSchema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : "unreadable";
}

/** Durable once it resolves. */
export async function writeJournal(disk: Disk, journal: Journal): Promise<void> {
  await makeRecordFolder(disk);
  await replaceFile(disk, JOURNAL_FILE, [Buffer.from(JSON.stringify(journal))], JOURNAL_ACCESS);
}

/** The last act: from here on nothing was cut short. What a write of the journal left half goes too. */
export async function removeJournal(disk: Disk): Promise<void> {
  if ((await disk.lookThrough(RECORD_FOLDER)).kind !== "directory") return;
  await removeIfPresent(disk, temporaryPath(JOURNAL_FILE));
  await removeIfPresent(disk, JOURNAL_FILE);
  await disk.syncDirectory(RECORD_FOLDER);
  await removeEmptyDirectory(disk, RECORD_FOLDER);
}

export function undoOf(step: Step): Undo {
  switch (step.kind) {
    case "make-directory":
      return { kind: "directory", path: step.path };
    case "write-file":
      return { kind: "file", path: step.path, sha256: step.sha256, replaced: step.replaces };
    case "set-access":
      return { kind: "access", path: step.path, ...step.was };
    case "make-link":
      return { kind: "link", path: step.path, target: step.target, was: step.was };
    case "add-user":
      return { kind: "user" };
    case "reload-units":
      return { kind: "units" };
    case "enable":
      return { kind: "enabled", unit: step.unit };
    case "start":
      return { kind: "started", unit: step.unit };
    case "restart":
      return { kind: "restarted", unit: step.unit };
  }
}

/** The journal is the first thing in it, before any step that makes folders. */
async function makeRecordFolder(disk: Disk): Promise<void> {
  for (const path of [dirname(dirname(RECORD_FOLDER)), dirname(RECORD_FOLDER), RECORD_FOLDER]) {
    if ((await disk.lookThrough(path)).kind !== "absent") continue;
    await disk.makeDirectory(
      path,
      path === RECORD_FOLDER ? RECORD_FOLDER_ACCESS : { ...RECORD_FOLDER_ACCESS, mode: 0o755 },
    );
    await disk.syncDirectory(dirname(path));
  }
}
