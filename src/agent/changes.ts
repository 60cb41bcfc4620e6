/** What differs between a registration and what is on the disk now: which files, and which members of the request. */
import { isDeepStrictEqual } from "node:util";

import { isContract } from "../api/is-contract.ts";
import { ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import type { RobotSetup } from "../api/robots.ts";
import type { FileFingerprint } from "../look/snapshot.ts";
import { isoTime } from "../platform/clock.ts";
import { isObject } from "../platform/is-object.ts";
import { parseJson } from "../platform/text/parse-json.ts";
import type { Registration } from "./registration/registration.ts";

/** Of a contract, in a status; `contract --diff` shows all. */
const CONTRACT_CHANGES_LIMIT = 10;

export interface FileChange {
  readonly kind: "changed" | "added" | "removed";
  readonly label: string;
  readonly path: string;
  /** When the file was last written, ISO 8601, by its timestamp; null for a file that is gone, and for devices. */
  readonly changed_at: string | null;
  /** Of a device that changed: what of its line differs, as `serial A → B`. */
  readonly what?: string;
  /** The pattern of the manifest that stands for it. */
  readonly pattern?: string;
}

/** Where there is no value, `before` or `after` is null. */
export interface MemberChange {
  /** As in the request: `site`, `labels.bay`; `configuration_files` for another order of the same files. */
  readonly member: string;
  readonly before: string | null;
  readonly after: string | null;
  /** In words, for what has no short values: the order of files, and parts of a contract. */
  readonly what: string | null;
}

export interface Changes {
  readonly files: readonly FileChange[];
  readonly members: readonly MemberChange[];
}

/** @param body what would be registered now; null while that is not known. */
export async function changesSince(
  { files: before, request }: Pick<Registration, "files" | "request">,
  files: readonly FileFingerprint[],
  body: RobotSetup | null,
): Promise<Changes> {
  const known = new Map(before.map((file) => [file.path, file]));
  const listed = new Set(files.map(({ path }) => path));
  const changed = files.flatMap((file): readonly FileChange[] => {
    const { path, stat, sha256, line } = file;
    const earlier = known.get(path);
    if (earlier?.sha256 === sha256) return [];
    const kind = earlier === undefined ? "added" : "changed";
    if (line === undefined) return [{ kind, ...placeOf(file), changed_at: isoTime(Number(stat.mtimeNs / 1_000_000n)) }];
    const isKnown = earlier?.line !== undefined;
    return [{ kind, ...placeOf(file), changed_at: null, ...(isKnown && { what: lineChanges(earlier.line, line) }) }];
  });
  const removed = before
    .filter(({ path }) => !listed.has(path))
    .flatMap((file): readonly FileChange[] => [{ kind: "removed", ...placeOf(file), changed_at: null }]);
  const fileChanges = [...changed, ...removed];
  const members = body === null ? [] : await memberChanges(request, body);
  const isReordered =
    body !== null && fileChanges.length === 0 && body.configuration_digest !== request.configuration_digest;
  return {
    files: fileChanges,
    members: isReordered
      ? [...members, inWords("configuration_files", "the order of the configuration files")]
      : members,
  };
}

function placeOf({ label, path, pattern }: FileFingerprint): Pick<FileChange, "label" | "path" | "pattern"> {
  return { label, path, ...(pattern !== undefined && { pattern }) };
}

/** The members that differ, in words. */
function lineChanges(before: string, after: string): string {
  const [one, other] = [membersOf(before), membersOf(after)];
  const names = new Set([...one.keys(), ...other.keys()]);
  const differing = [...names].filter((name) => one.get(name) !== other.get(name));
  return differing.map((name) => `${name} ${one.get(name) ?? "none"} → ${other.get(name) ?? "none"}`).join(", ");
}

function membersOf(line: string): ReadonlyMap<string, string> {
  const members = parseJson(line);
  return new Map(isObject(members) ? Object.entries(members).map(([name, value]) => [name, String(value)]) : []);
}

async function memberChanges(before: RobotSetup, after: RobotSetup): Promise<readonly MemberChange[]> {
  const texts = ["name", "robot_type_id", "region", ...ROBOT_TEXT_NAMES] as const;
  const changed = texts.flatMap((member) => changeOf(member, before[member], after[member]));
  const names = new Set([...Object.keys(before.labels ?? {}), ...Object.keys(after.labels ?? {})]);
  const labels = [...names].flatMap((name) => changeOf(`labels.${name}`, before.labels?.[name], after.labels?.[name]));
  return [...changed, ...labels, ...(await contractChanges(before.contract ?? null, after.contract ?? null))];
}

async function contractChanges(before: object | null, after: object | null): Promise<readonly MemberChange[]> {
  if (isDeepStrictEqual(before, after)) return [];
  const areContracts = before !== null && after !== null && isContract(before) && isContract(after);
  // Most robots have no contract.
  const { diffContracts } = await import("../differences/contract.ts");
  const changes = areContracts ? diffContracts(before, after) : [];
  if (changes.length === 0)
    return [inWords("contract", before === null ? "is new" : after === null ? "is gone" : "differs")];
  const shown = changes.slice(0, CONTRACT_CHANGES_LIMIT);
  const more = changes.length - shown.length;
  return [
    ...shown.map(({ where, what }) => inWords(`contract ${where}`, what)),
    ...(more === 0 ? [] : [inWords("contract", `and ${more} more: robot-policy-agent contract --diff`)]),
  ];
}

function inWords(member: string, what: string): MemberChange {
  return { member, before: null, after: null, what };
}

function changeOf(
  member: string,
  before: string | null | undefined,
  after: string | null | undefined,
): readonly MemberChange[] {
  if ((before ?? null) === (after ?? null)) return [];
  return [{ member, before: before ?? null, after: after ?? null, what: null }];
}

/** One line for each change: `changed  right arm (/opt/yam/configs/yam_right.yaml) 14:02`. @param nowMs wall clock; null for no times. */
export function describeChanges({ files, members }: Changes, nowMs: number | null): readonly string[] {
  const groups = Map.groupBy(files, ({ kind, path, pattern }) => `${kind} ${pattern ?? path}`);
  const ofFiles = [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map((file) => describeFile(file, group.length, nowMs)),
  );
  const ofMembers = members.map(({ member, before, after, what }) => {
    if (member === "configuration_files") return `changed  ${what ?? member}`;
    if (what !== null) return `changed  ${member} ${what}`;
    return `changed  ${member.replace(/^labels\./, "label ")}: ${before ?? "none"} → ${after ?? "none"}`;
  });
  return [...ofFiles, ...ofMembers];
}

/** @param count of the files of its pattern to which the same happened. */
function describeFile(file: FileChange, count: number, nowMs: number | null): string {
  const { kind, label, path, pattern, what, changed_at: at } = file;
  if (pattern !== undefined && count > 1) return `${kind}  ${count} files of ${pattern}`;
  const name = label === path ? path : `${label} (${path})`;
  if (what !== undefined) return `${kind}  ${name}: ${what}`;
  return `${kind}  ${name}${at === null || nowMs === null ? "" : ` ${clockTime(Date.parse(at), nowMs)}`}`;
}

/** The local time of day, with the date when that is another one. */
function clockTime(timeMs: number, nowMs: number): string {
  const digits = (value: number) => String(value).padStart(2, "0");
  const dateOf = (date: Date) => `${date.getFullYear()}-${digits(date.getMonth() + 1)}-${digits(date.getDate())}`;
  const time = new Date(timeMs);
  const clock = `${digits(time.getHours())}:${digits(time.getMinutes())}`;
  return dateOf(time) === dateOf(new Date(nowMs)) ? clock : `${dateOf(time)} ${clock}`;
}
