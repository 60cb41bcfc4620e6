import { createHash } from "node:crypto";
import { join } from "node:path";

import type { RobotView } from "../../api/robot-views.ts";
import type { RobotSetup } from "../../api/robots.ts";
import type { FileFingerprint } from "../../fingerprint/snapshot.ts";
import { readBounded, replaceDurably } from "../../platform/files/durable-file.ts";
import type { FileOwner, Files } from "../../platform/files/files.ts";
import { errorCode } from "../../platform/files/files.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import type { Envelope, FileRecord, RegistrationRecord } from "./record.ts";
import { isEnvelope, isRegistrationRecord } from "./record.ts";

/** What the robot is registered as, and what that was made of. */
export interface Registration {
  readonly service_url: string;
  /** The machine that registered, as `Identity.machine` names it; null where it had no id. */
  readonly machine: string | null;
  /** The request body that the service accepted. */
  readonly request: RobotSetup;
  /** Another request was sent since, and whether the service took it is unknown. */
  readonly in_doubt: boolean;
  /** What was hashed for it. */
  readonly files: readonly FileFingerprint[];
  /** The robot as the service answered. */
  readonly robot: RobotView;
  /** ISO 8601, by this machine's clock. */
  readonly registered_at: string;
}

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
  return { kind: "registration", registration: { ...registration, files: registration.files.map(decodeFile) } };
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

/** Detects torn writes and failing flash. Not a protection against tampering. */
export function checksum(schemaVersion: number, registration: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify({ schema_version: schemaVersion, registration }))
    .digest("hex");
}

/** JSON has no 64-bit integers. */
function encodeFile(file: FileFingerprint): FileRecord {
  const { stat } = file;
  const { device, inode, mtime_ns: mtimeNs, ctime_ns: ctimeNs } = stat;
  return {
    ...file,
    stat: { ...stat, device: `${device}`, inode: `${inode}`, mtime_ns: `${mtimeNs}`, ctime_ns: `${ctimeNs}` },
  };
}

function decodeFile(file: FileRecord): FileFingerprint {
  const { stat } = file;
  return {
    ...file,
    stat: {
      ...stat,
      device: BigInt(stat.device),
      inode: BigInt(stat.inode),
      mtime_ns: BigInt(stat.mtime_ns),
      ctime_ns: BigInt(stat.ctime_ns),
    },
  };
}
