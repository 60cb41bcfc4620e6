import { readBounded } from "../platform/files/durable-file.ts";
import type { FileStat, Files } from "../platform/files/files.ts";
import type { RunProgram } from "../platform/programs.ts";
import type { FoundUnit } from "./unit.ts";
import { SERVICE_NAME } from "./unit.ts";

/** A user of this machine, with the groups of its processes. */
export interface Account {
  /** Empty when the user database has no name for the id. */
  readonly name: string;
  readonly user_id: number;
  readonly group_id: number;
  /** Including the primary group. */
  readonly group_ids: readonly number[];
}

/** The user that must be able to read the agent's files. */
export type ServiceAccount =
  | { readonly kind: "account"; readonly account: Account }
  /** The user that an installation creates does not exist yet. */
  | { readonly kind: "absent"; readonly name: string };

export interface AccountQuestion {
  readonly files: Files;
  readonly runProgram: RunProgram;
  readonly unit: FoundUnit;
  readonly state_directory: string;
  /** The user of this process. */
  readonly user_id: number;
}

const STANDARD_STATE_DIRECTORY = `/var/lib/${SERVICE_NAME}`;
const LOOK_UP_LIMIT_MS = 4000;

/**
 * The user that the agent runs as, now or once installed: that of the unit; without a unit, the owner of the state directory, else the
 * user that an installation creates; for other, unused folders, the user of this process.
 */
export async function findServiceAccount(question: AccountQuestion): Promise<ServiceAccount> {
  const { files, runProgram, unit, state_directory: stateDirectory, user_id: userId } = question;
  const isStandard = stateDirectory === STANDARD_STATE_DIRECTORY;
  if (isStandard && unit.kind === "unit" && unit.unit.load_state === "loaded") {
    const name = unit.unit.user === "" ? "root" : unit.unit.user;
    const account = await lookUpAccount(runProgram, name);
    if (account === null) return { kind: "absent", name };
    const more = await groupIds(files, unit.unit.supplementaryGroups);
    return { kind: "account", account: { ...account, group_ids: [...new Set([...account.group_ids, ...more])] } };
  }
  if (isStandard) {
    const account = await lookUpAccount(runProgram, SERVICE_NAME);
    if (account !== null) return { kind: "account", account };
  }
  const owner = await ownerOf(files, stateDirectory);
  if (owner !== null) {
    const account = await lookUpAccount(runProgram, String(owner.user_id));
    return { kind: "account", account: account ?? nameless(owner.user_id, owner.group_id) };
  }
  if (isStandard) return { kind: "absent", name: SERVICE_NAME };
  return { kind: "account", account: (await lookUpAccount(runProgram, String(userId))) ?? nameless(userId, userId) };
}

/** @param name the name or id of a user. @returns null when the user database has none. */
export async function lookUpAccount(runProgram: RunProgram, name: string): Promise<Account | null> {
  if (name === "0" || name === "root") return { name: "root", user_id: 0, group_id: 0, group_ids: [0] };
  const result = await runProgram(["id", "--", name], { limitMs: LOOK_UP_LIMIT_MS });
  return result.kind === "ended" && result.exitCode === 0 ? parseAccount(result.stdout) : null;
}

/** Reads what id(1) prints: `uid=998(name) gid=997(group) groups=997(group),44(video)`. */
export function parseAccount(text: string): Account | null {
  const [, userId, name = "", groupId, groups = ""] =
    /^uid=(\d+)(?:\(([^)]*)\))? gid=(\d+)\S*(?: groups=(.*))?/.exec(text) ?? [];
  if (userId === undefined || groupId === undefined) return null;
  const members = [...groups.matchAll(/(?:^|,)(\d+)/g)].map(([, id]) => Number(id));
  const all = [...new Set([Number(groupId), ...members])];
  return { name, user_id: Number(userId), group_id: Number(groupId), group_ids: all };
}

/** For messages and commands in them. */
export function accountName({ name, user_id: userId }: Account): string {
  return name === "" ? `user ${userId}` : name;
}

export interface Group {
  readonly name: string;
  readonly groupId: number;
  /** Names of users, without those whose primary group it is. */
  readonly members: readonly string[];
}

const DATABASE_LIMIT_BYTES = 4 * 1024 * 1024;

/** The groups of /etc/group. Those of a directory service are not in it. */
export async function readGroups(files: Files): Promise<readonly Group[]> {
  const rows = await readDatabase(files, "/etc/group");
  return rows.map(([name = "", , groupId, members = ""]) => ({
    name,
    groupId: Number(groupId),
    members: members.split(",").filter((member) => member !== ""),
  }));
}

/** Names of the users of /etc/passwd, by id, with their first group. */
export async function readUsers(files: Files): Promise<readonly Pick<Account, "name" | "user_id" | "group_id">[]> {
  const rows = await readDatabase(files, "/etc/passwd");
  return rows.map(([name = "", , userId, groupId]) => ({
    name,
    user_id: Number(userId),
    group_id: Number(groupId),
  }));
}

async function readDatabase(files: Files, path: string): Promise<readonly (readonly string[])[]> {
  const bytes = await readBounded(files, path, DATABASE_LIMIT_BYTES).catch(() => new Uint8Array());
  if (bytes === "too-large") return [];
  const lines = Buffer.from(bytes).toString("utf8").split("\n");
  return lines.filter((line) => line.includes(":")).map((line) => line.split(":"));
}

async function groupIds(files: Files, names: readonly string[]): Promise<readonly number[]> {
  if (names.length === 0) return [];
  const groups = await readGroups(files);
  return names.flatMap(
    (name) => groups.find((group) => group.name === name || String(group.groupId) === name)?.groupId ?? [],
  );
}

async function ownerOf(files: Files, directory: string): Promise<Pick<FileStat, "user_id" | "group_id"> | null> {
  return files.stat(directory).catch(() => null);
}

function nameless(userId: number, groupId: number): Account {
  return { name: "", user_id: userId, group_id: groupId, group_ids: [groupId] };
}
