import { join } from "node:path";
import { crc32 } from "node:zlib";

import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { FileFingerprint } from "../../fingerprint/snapshot.ts";
import { readBounded, replaceDurably } from "../../platform/files/durable-file.ts";
import type { FileOwner, Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import type { Envelope, FileRecord, Registration, RegistrationRecord } from "./record.ts";
import { isEnvelope, isRegistrationRecord } from "./record.ts";

export type LoadedRegistration =
  | { readonly kind: "none" }
  | { readonly kind: "registration"; readonly registration: Registration }
  /** The file is torn or not from this program; nothing in it is used. */
  | { readonly kind: "damaged"; readonly path: string; readonly why: string }
  /** Written by a newer agent: kept, so that the newer agent can use it after an upgrade. */
  | { readonly kind: "newer"; readonly path: string; readonly version: number };

/** Version of the state file, raised when an older agent can no longer read it. */
export const SCHEMA_VERSION = 1;
const FILE_NAME = "registration.json";
const FILE_MODE = 0o640;
/** Far above what 64 files and a contract need. */
const FILE_LIMIT_BYTES = 4 * 1024 * 1024;

/** True only for two different ids: a machine without an id (a container) cannot be distinguished. */
export function isOtherMachine(registration: Pick<Registration, "machine">, machine: string | null): boolean {
  return registration.machine !== null && machine !== null && registration.machine !== machine;
}

/** The file in a state directory. */
export function registrationPath(stateDirectory: string): string {
  return join(stateDirectory, FILE_NAME);
}

/**
 * Reads the last registration.
 *
 * @throws Node system errors other than ENOENT (no permission, I/O error): the state is then unknown, not empty.
 */
export async function loadRegistration(files: Files, stateDirectory: string): Promise<LoadedRegistration> {
  const path = registrationPath(stateDirectory);
  const damaged = (why: string): LoadedRegistration => ({ kind: "damaged", path, why });
  let bytes: Uint8Array | "too-large";
  try {
    bytes = await readBounded(files, path, FILE_LIMIT_BYTES);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { kind: "none" };
    if (errorCode(error) === "EINVAL") return damaged("it is not a regular file");
    throw error;
  }
  if (bytes === "too-large") return damaged("it is too large");

  const envelope = parseJson(Buffer.from(bytes).toString("utf8"));
  if (!isEnvelope(envelope)) return damaged("it is torn or not ours");
  const { schema_version: schemaVersion, registration } = envelope;
  if (checksum(schemaVersion, registration) !== envelope.checksum) return damaged("its checksum does not match");
  if (schemaVersion > SCHEMA_VERSION) return { kind: "newer", path, version: schemaVersion };
  if (!isRegistrationRecord(registration)) return damaged("it does not decode");
  const { robot, files: hashed } = registration;
  const texts = eachOf(ROBOT_TEXT_NAMES, (name) => robot[name] ?? null);
  return {
    kind: "registration",
    registration: { ...registration, robot: { ...robot, ...texts }, files: hashed.map(decodeFile) },
  };
}

/** False only when the registration file is known to be missing. */
export async function isSaved(files: Files, stateDirectory: string): Promise<boolean> {
  try {
    await files.linkStat(registrationPath(stateDirectory));
    return true;
  } catch (error) {
    return errorCode(error) !== "ENOENT";
  }
}

/**
 * Replaces the state durably: after a power cut at any moment the file has the old or the new registration, never a mix.
 *
 * @throws Node system errors such as ENOSPC or EROFS; the old file is then unchanged.
 */
export async function saveRegistration(
  files: Files,
  stateDirectory: string,
  registration: Registration,
): Promise<void> {
  const record: RegistrationRecord = { ...registration, files: registration.files.map(encodeFile) };
  const envelope: Envelope = {
    schema_version: SCHEMA_VERSION,
    checksum: checksum(SCHEMA_VERSION, record),
    registration: record,
  };
  const bytes = Buffer.from(`${JSON.stringify(envelope, null, 2)}\n`);
  // `--setup` as root writes a file that the service user reads later, so it gets the owner of the directory.
  const owner = await statOrMake(files, stateDirectory);
  await replaceDurably(files, registrationPath(stateDirectory), bytes, FILE_MODE, owner);
}

async function statOrMake(files: Files, directory: string): Promise<FileOwner> {
  try {
    return await files.stat(directory);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    await files.makeDirectory(directory, 0o750);
    return files.stat(directory);
  }
}

/**
 * Renames a damaged state file to `*.damaged`, for a person to inspect. Only the latest is kept.
 *
 * @returns the new path.
 */
export async function setAside(files: Files, path: string): Promise<string> {
  const aside = `${path}.damaged`;
  await files.rename(path, aside);
  return aside;
}

/** CRC-32 as 8 hex digits. Detects torn writes and failing flash. Not a protection against tampering. */
export function checksum(schemaVersion: number, registration: unknown): string {
  const crc = crc32(JSON.stringify({ schema_version: schemaVersion, registration }));
  return crc.toString(16).padStart(8, "0");
}

/** JSON has no 64-bit integers. */
function encodeFile(file: FileFingerprint): FileRecord {
  const { kind, device, inode, sizeBytes, mtimeNs, ctimeNs, mode, userId, groupId } = file.stat;
  return {
    ...file,
    stat: {
      kind,
      device: `${device}`,
      inode: `${inode}`,
      size_bytes: sizeBytes,
      mtime_ns: `${mtimeNs}`,
      ctime_ns: `${ctimeNs}`,
      mode,
      user_id: userId,
      group_id: groupId,
    },
  };
}

function decodeFile(file: FileRecord): FileFingerprint {
  const { stat } = file;
  return {
    ...file,
    stat: {
      kind: stat.kind,
      device: BigInt(stat.device),
      inode: BigInt(stat.inode),
      sizeBytes: stat.size_bytes,
      mtimeNs: BigInt(stat.mtime_ns),
      ctimeNs: BigInt(stat.ctime_ns),
      mode: stat.mode,
      userId: stat.user_id,
      groupId: stat.group_id,
    },
  };
}
