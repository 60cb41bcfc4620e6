import type { Files } from "../platform/files/files.ts";
import type { RunProgram } from "../platform/programs.ts";
import { type FoundUnit, SERVICE_NAME, type ServiceUnit } from "./unit.ts";

/** A user of this machine, with the groups of its processes. */
export interface Account {
  /** Empty when the user database has no name for the id. */
  readonly name: string;
  readonly userId: number;
  readonly groupId: number;
  /** Including the primary group. */
  readonly groupIds: readonly number[];
}

/** The user that must be able to read the agent's files. */
export interface ServiceAccount {
  /** For messages. */
  readonly name: string;
  /** Null when the user does not exist yet: an installation creates it. */
  readonly account: Account | null;
}

export interface AccountQuestion {
  readonly files: Files;
  readonly runProgram: RunProgram;
  readonly unit: FoundUnit;
  readonly stateDirectory: string;
  /** The user of this process. */
  readonly userId: number;
}

const STANDARD_STATE_DIRECTORY = `/var/lib/${SERVICE_NAME}`;
const LOOK_UP_LIMIT_MS = 4000;

/**
 * The user that the agent runs as, now or once installed: that of the unit; without a unit, the user that an installation creates, else the
 * owner of the state directory; for other, unused folders, the user of this process.
 */
export async function findServiceAccount(question: AccountQuestion): Promise<ServiceAccount> {
  const { files, runProgram, unit, stateDirectory, userId } = question;
  const isStandard = stateDirectory === STANDARD_STATE_DIRECTORY;
  if (isStandard && unit.kind === "unit" && unit.unit.loadState === "loaded") {
    const name = unit.unit.user === "" ? "root" : unit.unit.user;
    const account = await lookUpAccount(runProgram, name);
    return { name, account: account === null ? null : await withGroups(account, unit.unit, runProgram) };
  }
  const installed = isStandard ? await lookUpAccount(runProgram, SERVICE_NAME) : null;
  if (installed !== null) return { name: SERVICE_NAME, account: installed };
  const owner = await files.stat(stateDirectory).catch(() => null);
  if (owner === null && isStandard) return { name: SERVICE_NAME, account: null };
  const { userId: id, groupId } = owner ?? { userId, groupId: userId };
  const nameless = { name: "", userId: id, groupId, groupIds: [groupId] };
  const account = (await lookUpAccount(runProgram, String(id))) ?? nameless;
  return { name: accountName(account), account };
}

/** @param name the name or id of a user. @returns null when the user database has none. */
export async function lookUpAccount(runProgram: RunProgram, name: string): Promise<Account | null> {
  if (name === "0" || name === "root") return { name: "root", userId: 0, groupId: 0, groupIds: [0] };
  const result = await runProgram(["id", "--", name], { limitMs: LOOK_UP_LIMIT_MS });
  return result.kind === "ended" && result.exitCode === 0 ? parseAccount(result.stdout) : null;
}

/** Reads what id(1) prints: `uid=998(name) gid=997(group) groups=997(group),44(video)`. */
function parseAccount(text: string): Account | null {
  const [, userId, name = "", groupId, groups = ""] =
    /^uid=(\d+)(?:\(([^)]*)\))? gid=(\d+)\S*(?: groups=(.*))?/.exec(text) ?? [];
  if (userId === undefined || groupId === undefined) return null;
  const members = [...groups.matchAll(/(?:^|,)(\d+)/g)].map(([, id]) => Number(id));
  const all = [...new Set([Number(groupId), ...members])];
  return { name, userId: Number(userId), groupId: Number(groupId), groupIds: all };
}

/** For messages and commands in them. */
export function accountName({ name, userId }: Account): string {
  return name === "" ? `user ${userId}` : name;
}

export interface Group {
  readonly name: string;
  readonly groupId: number;
  /** Names of users, without those whose primary group it is. */
  readonly members: readonly string[];
}

/** @param names names or ids. @returns the groups of all user databases of the machine; those that it does not know are missing. */
export async function lookUpGroups(runProgram: RunProgram, names: readonly string[]): Promise<readonly Group[]> {
  const result = await runProgram(["getent", "group", "--", ...names], { limitMs: LOOK_UP_LIMIT_MS });
  const lines = result.kind === "ended" ? result.stdout.split("\n").filter((line) => line.includes(":")) : [];
  return lines.map((line) => {
    const [name = "", , groupId, members = ""] = line.split(":");
    return { name, groupId: Number(groupId), members: members.split(",").filter((member) => member !== "") };
  });
}

/** The account with the groups that the unit gives it. */
async function withGroups(account: Account, unit: ServiceUnit, runProgram: RunProgram): Promise<Account> {
  const { group, supplementaryGroups } = unit;
  if (group === "" && supplementaryGroups.length === 0) return account;
  const groups = await lookUpGroups(runProgram, [String(account.groupId), group, ...supplementaryGroups]);
  const idOf = (written: string) =>
    groups.find(({ name, groupId }) => name === written || String(groupId) === written)?.groupId;
  const groupId = idOf(group) ?? account.groupId;
  // As initgroups(3) does: with another group, the user's own counts only where the group lists the user.
  const isMember = groups.some((each) => each.groupId === account.groupId && each.members.includes(account.name));
  const own = account.groupIds.filter((id) => id !== account.groupId || isMember);
  const more = supplementaryGroups.flatMap((name) => idOf(name) ?? []);
  return { ...account, groupId, groupIds: [...new Set([groupId, ...own, ...more])] };
}
