/** Files of the state directory: JSON with a version and a checksum, so that a torn file is never used. */
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";

import * as z from "zod";

import { readBounded, removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type FileOwner, type Files } from "../../platform/files/files.ts";
import { parseJson } from "../../platform/text/parse-json.ts";

/** What is in a state file. */
export interface StateForm<T> {
  /** The member of the file that holds its content. */
  readonly member: "registration" | "content";
  readonly schema: z.ZodType<T>;
  readonly mode: number;
  readonly limitBytes: number;
}

export type StateFile<T> =
  | { readonly kind: "none" }
  | { readonly kind: "content"; readonly content: T }
  /** The file is torn or not from this program; nothing in it is used. */
  | { readonly kind: "damaged" };

/**
 * Version of the state files, raised when an older agent can no longer read them. The envelope stays: version and checksum tell an older
 * agent, and preinst, a newer file from a damaged one.
 */
export const SCHEMA_VERSION = 1;

const envelopeSchema = z.looseObject({ schema_version: z.int().nonnegative(), checksum: z.string() });

/** A file of a newer agent: nothing is done with it, so that the newer agent can use it after an upgrade. */
export class NewerState extends Error {
  readonly code = "state-newer";
  readonly path: string;
  readonly version: number;
  constructor(path: string, version: number) {
    super(`${path} was written by a newer agent`);
    this.path = path;
    this.version = version;
  }
}

/** zod compiles a schema at its first use, which takes longer than to read one file of the state. */
const JITLESS = { jitless: true } as const;

/** @throws Node system errors other than ENOENT (no permission, I/O error): the state is then unknown, not empty. @throws NewerState. */
export async function readState<T>(files: Files, path: string, form: StateForm<T>): Promise<StateFile<T>> {
  let bytes: Uint8Array | "too-large";
  try {
    bytes = await readBounded(files, path, form.limitBytes);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { kind: "none" };
    if (errorCode(error) === "EINVAL") return { kind: "damaged" };
    throw error;
  }
  if (bytes === "too-large") return { kind: "damaged" };
  const envelope = envelopeSchema.safeParse(parseJson(Buffer.from(bytes).toString("utf8")), JITLESS);
  if (!envelope.success) return { kind: "damaged" };
  const { schema_version: version, checksum: sum, [form.member]: member } = envelope.data;
  if (checksum(version, member) !== sum) return { kind: "damaged" };
  if (version > SCHEMA_VERSION) throw new NewerState(path, version);
  const content = form.schema.safeParse(member, JITLESS);
  return content.success ? { kind: "content", content: content.data } : { kind: "damaged" };
}

/**
 * Replaces the file durably: after a power cut at any moment it has the old or the new content, never a mix.
 *
 * @param content what the form's schema reads.
 * @throws Node system errors such as ENOSPC or EROFS; the old file is then unchanged.
 */
export async function replaceState(
  files: Files,
  path: string,
  { member, mode }: Pick<StateForm<unknown>, "member" | "mode">,
  content: unknown,
): Promise<void> {
  const envelope = { schema_version: SCHEMA_VERSION, checksum: checksum(SCHEMA_VERSION, content), [member]: content };
  const bytes = Buffer.from(`${JSON.stringify(envelope, null, 2)}\n`);
  await replaceDurably(files, path, bytes, mode, await ownerOf(files, dirname(path)));
}

/** A command that runs as root writes files that the agent's user reads later, so they get the owner of the directory. */
async function ownerOf(files: Files, stateDirectory: string): Promise<FileOwner> {
  try {
    return await files.stat(stateDirectory);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    await files.makeDirectory(stateDirectory, 0o750);
    return files.stat(stateDirectory);
  }
}

/** False only when the file is known to be missing. */
export async function isSaved(files: Files, path: string): Promise<boolean> {
  try {
    await files.linkStat(path);
    return true;
  } catch (error) {
    return errorCode(error) !== "ENOENT";
  }
}

/**
 * Renames a damaged file to `*.damaged`, for a person to inspect. Only the latest is kept.
 *
 * @returns the path of the file now. On a read-only disk it stays, but is not used either.
 */
export function setAside(files: Files, path: string): Promise<string> {
  const aside = `${path}.damaged`;
  return files.rename(path, aside).then(
    () => aside,
    () => path,
  );
}

/** True only for two different ids: a machine without an id (a container) cannot be distinguished. */
export function isOtherMachine(record: { readonly machine: string | null }, machine: string | null): boolean {
  return record.machine !== null && machine !== null && record.machine !== machine;
}

/** CRC-32 as 8 hex digits. Detects torn writes and failing flash. Not a protection against tampering. */
export function checksum(schemaVersion: number, content: unknown): string {
  const crc = crc32(JSON.stringify({ schema_version: schemaVersion, registration: content }));
  return crc.toString(16).padStart(8, "0");
}

/**
 * A file that is in the state directory only after an agent ended in order with everything saved. After a power cut it is missing: the
 * service may then have a registration that a full or read-only disk could not take. Its removal needs no free block.
 */
export function createCleanStop(files: Files, stateDirectory: string) {
  const path = join(stateDirectory, "stopped");
  return {
    /** An agent runs from now on. @returns whether the last one ended in order. */
    async take(): Promise<boolean> {
      try {
        await files.remove(path);
        await files.syncDirectory(stateDirectory);
        return true;
      } catch (error) {
        if (errorCode(error) === undefined) throw error;
        return false;
      }
    },
    /** Nothing runs that would remove it. @returns whether the last one ended in order. */
    isLeft: () => isSaved(files, path),
    /** The disk lacks something. */
    deny: () => removeIfPresent(files, path).catch(ignoreDisk),
    /** Not synced: without the file the next start only asks sooner. */
    async leave(): Promise<void> {
      await files.createExclusive(path, 0o600).then((file) => file.close(), ignoreDisk);
    },
  };
}

function ignoreDisk(error: unknown): void {
  if (errorCode(error) === undefined) throw error;
}
