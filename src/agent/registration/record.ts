import { eachOf, ROBOT_TEXT_NAMES, type RobotTextName } from "../../api/robot-texts.ts";
import type { RobotView } from "../../api/robot-views.ts";
import type { RobotSetup } from "../../api/robots.ts";
import type { FileFingerprint } from "../../look/snapshot.ts";
import type { FileStat } from "../../platform/files/files.ts";
import { isObject } from "../../platform/is-object.ts";

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

/** A registration in the state file. JSON has no 64-bit integers, so those are strings of digits. */
export type RegistrationRecord = Omit<Registration, "files" | "robot"> & {
  readonly files: readonly FileRecord[];
  readonly robot: RobotRecord;
};

/** A file of an earlier agent lacks the texts that were not known then. */
type RobotRecord = Omit<RobotView, RobotTextName> & Partial<Record<RobotTextName, string | null | undefined>>;

/** `trusted` is for earlier agents, which would otherwise not read the file again after a start. */
export type FileRecord = Omit<FileFingerprint, "stat"> & { readonly stat: StatRecord; readonly trusted: boolean };

interface StatRecord {
  readonly kind: FileStat["kind"];
  readonly device: string;
  readonly inode: string;
  readonly size_bytes: number;
  readonly mtime_ns: string;
  readonly ctime_ns: string;
  readonly mode: number;
  readonly user_id: number;
  readonly group_id: number;
}

export type Guard<T> = (value: unknown) => value is T;

export const isText: Guard<string> = (value) => typeof value === "string";
export const isCount: Guard<number> = (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isFlag: Guard<boolean> = (value) => typeof value === "boolean";
const isDigits: Guard<string> = (value): value is string => isText(value) && /^-?\d{1,20}$/.test(value);
const isSha256: Guard<string> = (value): value is string => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isFileKind: Guard<"file"> = (value): value is "file" => value === "file";
const isAnything: Guard<unknown> = (_value): _value is unknown => true;

const isStat = isShape<StatRecord>({
  kind: isFileKind,
  device: isDigits,
  inode: isDigits,
  size_bytes: isCount,
  mtime_ns: isDigits,
  ctime_ns: isDigits,
  mode: isCount,
  user_id: isCount,
  group_id: isCount,
});

const isFile = isShape<FileRecord>({
  label: isText,
  path: isText,
  sha256: isSha256,
  bytes: isCount,
  trusted: isFlag,
  suspect: isFlag,
  stat: isStat,
});

const isRequest = isShape<RobotSetup>({
  name: isText,
  robot_type_id: isText,
  region: isText,
  configuration_digest: isText,
  ...eachOf(ROBOT_TEXT_NAMES, () => isMissingOr(isText)),
  labels: isMissingOr(isMap(isText)),
  contract: isMissingOr(isMap(isAnything)),
});

const isView = isShape<RobotRecord>({
  id: isText,
  name: isText,
  robot_type_id: isText,
  region: isText,
  created_at: isText,
  ...eachOf(ROBOT_TEXT_NAMES, () => isMissingOr(isText)),
  labels: isMap(isText),
});

/**
 * True for what `saveRegistration` writes.
 *
 * Checked without zod: every start reads the state, and loading the schemas would add 9 ms and 2 MB to a start with nothing to do (a
 * quarter of it).
 */
export const isRegistrationRecord = isShape<RegistrationRecord>({
  service_url: isText,
  machine: isNullOr(isText),
  request: isRequest,
  in_doubt: isFlag,
  files: isListOf(isFile),
  robot: isView,
  registered_at: isText,
});

/** An object with these members; others are ignored. */
export function isShape<T>(members: { readonly [K in keyof T]-?: Guard<T[K]> }): Guard<T> {
  const guards = Object.entries<Guard<unknown>>(members);
  return (value): value is T =>
    isObject(value) && guards.every(([name, guard]) => guard(Object.hasOwn(value, name) ? value[name] : undefined));
}

export function isMap<T>(guard: Guard<T>): Guard<Record<string, T>> {
  return (value): value is Record<string, T> => isObject(value) && Object.values(value).every(guard);
}

function isListOf<T>(guard: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(guard);
}

export function isNullOr<T>(guard: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || guard(value);
}

export function isMissingOr<T>(guard: Guard<T>): Guard<T | null | undefined> {
  return (value): value is T | null | undefined => value === undefined || value === null || guard(value);
}
