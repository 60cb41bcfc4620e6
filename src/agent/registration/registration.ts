import { join } from "node:path";

import { eachOf, ROBOT_TEXT_NAMES } from "../../api/robot-texts.ts";
import type { FileFingerprint } from "../../look/snapshot.ts";
import type { Files } from "../../platform/files/files.ts";
import { type FileRecord, isRegistrationRecord, type Registration, type RegistrationRecord } from "./record.ts";
import { readState, replaceState, type StateFile } from "./state-file.ts";

export type LoadedRegistration =
  | Exclude<StateFile, { kind: "content" }>
  | { readonly kind: "registration"; readonly registration: Registration };

const FILE_MODE = 0o640;
/** Far above what 64 files and a contract need. */
const FILE_LIMIT_BYTES = 4 * 1024 * 1024;

/** The file in a state directory. */
export function registrationPath(stateDirectory: string): string {
  return join(stateDirectory, "registration.json");
}

/** Reads the last registration. @throws as `readState`. */
export async function loadRegistration(files: Files, stateDirectory: string): Promise<LoadedRegistration> {
  const state = await readState(files, registrationPath(stateDirectory), "registration", FILE_LIMIT_BYTES);
  if (state.kind !== "content") return state;
  const { content } = state;
  if (!isRegistrationRecord(content)) return { kind: "damaged" };
  const { robot, files: hashed } = content;
  const texts = eachOf(ROBOT_TEXT_NAMES, (name) => robot[name] ?? null);
  const registration = { ...content, robot: { ...robot, ...texts }, files: hashed.map(decodeFile) };
  return { kind: "registration", registration };
}

/** @throws as `replaceState`. */
export async function saveRegistration(
  files: Files,
  stateDirectory: string,
  registration: Registration,
): Promise<void> {
  const record: RegistrationRecord = { ...registration, files: registration.files.map(encodeFile) };
  await replaceState(files, registrationPath(stateDirectory), "registration", record, FILE_MODE);
}

/** JSON has no 64-bit integers. */
function encodeFile(file: FileFingerprint): FileRecord {
  const { kind, device, inode, sizeBytes, mtimeNs, ctimeNs, mode, userId, groupId } = file.stat;
  return {
    ...file,
    trusted: false,
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

function decodeFile({ label, path, sha256, bytes, suspect, stat }: FileRecord): FileFingerprint {
  return {
    label,
    path,
    sha256,
    bytes,
    suspect,
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
