/**
 * Which access lists to change, so that the agent's user can read the files, with the least rights; and the change.
 *
 * Root works here in folders of users who may attack it. So each change is made on an open entry, never by name. A path is refused that
 * anybody besides root and one more user can redirect; and behind a folder or link of that user, only entries of that user are changed.
 * The rights of everybody else stay as they are.
 */
import { lstat, readdir } from "node:fs/promises";

import { type ExaminedPath, examinePaths, folderOf, probeAs } from "../../access/access.ts";
import { type Account, accountName, lookUpAccount, lookUpGroups } from "../../access/account.ts";
import type { OpenEntries, OpenEntry } from "../../access/open-path.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import {
  type Acl,
  changeAcl,
  grantEntries,
  hasDefault,
  newFilesEntries,
  NOTHING,
  type Permissions,
  readAcls,
  rightsOf,
  union,
} from "./acl.ts";
import { type GrantedEntry, type GrantMachine, type GrantRecord, writeGrantRecord } from "./record.ts";

/** A change of one entry's access lists. */
export interface GrantStep {
  readonly entry: OpenEntry;
  readonly acl: Acl;
  /** What the user gets; `r-x` on a folder: list and enter. */
  readonly right: Permissions;
  /** The list of the file whose replacements the user must be able to read in this folder; null where new files do not matter. */
  readonly newFilesLike: Acl | null;
}

/** @param opened owns the entries of the plan: apply the plan before it ends. */
export async function planLists(
  runProgram: RunProgram,
  account: Account,
  paths: readonly string[],
  record: GrantRecord,
  opened: OpenEntries,
): Promise<PlannedLists & { readonly problems: readonly Problem[] }> {
  const examined = await examinePaths(probeAs(account, runProgram), paths, opened);
  const closed = [...examined].filter(([, each]) => !isOpen(each));
  if (closed.length === 0) return { steps: [], problems: [], notes: [] };
  if (closed.some(([, { whole }]) => whole === undefined)) {
    const what = `the rights of ${accountName(account)} cannot be checked: setpriv does not run`;
    const problem = { code: "setpriv-missing", what, fix: "install the package util-linux" };
    return { steps: [], problems: [problem], notes: [] };
  }
  const passed = new Set(closed.flatMap(([, each]) => each.passed.filter(({ stat }) => stat.kind !== "link")));
  const acls = await readAcls(runProgram, [...passed]);
  if ("code" in acls) return { steps: [], problems: [acls], notes: [] };

  const steps = new Map<OpenEntry, GrantStep>();
  const problems: Problem[] = [];
  const notes: string[] = [];
  for (const [path, each] of closed) {
    const planned = await planFile(runProgram, account, path, each, acls);
    if ("code" in planned) {
      problems.push(planned);
      continue;
    }
    notes.push(...planned.notes);
    for (const step of planned.steps) {
      // Several files may need the same folder.
      const { right, newFilesLike } = steps.get(step.entry) ?? step;
      const both = { right: union(right, step.right), newFilesLike: newFilesLike ?? step.newFilesLike };
      steps.set(step.entry, { ...step, ...both });
    }
  }
  const all = [...steps.values()];
  return { steps: all, problems, notes: [...notes, ...all.flatMap((step) => noteOfLoss(step, record))] };
}

interface PlannedLists {
  readonly steps: readonly GrantStep[];
  /** What the operator should know about the result. */
  readonly notes: readonly string[];
}

/** Whether the user can read the file, and list its folder. */
function isOpen(examined: ExaminedPath): boolean {
  const folder = folderOf(examined);
  return examined.whole?.reads === true && (folder === undefined || examined.rights.get(folder)?.reads !== false);
}

/** @returns a problem where the file cannot be granted. */
async function planFile(
  runProgram: RunProgram,
  account: Account,
  path: string,
  examined: ExaminedPath,
  acls: ReadonlyMap<OpenEntry, Acl>,
): Promise<PlannedLists | Problem> {
  const { passed, target: file, code, rights } = examined;
  const folder = folderOf(examined);
  if (file === null) {
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    const what = isMissing ? "it does not exist" : `root cannot read it (${code})`;
    return refused(path, what, "correct the path in the manifest");
  }
  if (file.stat.kind !== "file" || folder === undefined)
    return refused(path, "it is not a regular file", "list the files themselves");
  const shared = await refuseSharedPath(runProgram, path, passed, acls);
  if (shared !== null) return shared;

  const isFileClosed = rights.get(file)?.reads === false;
  const isPrepared = rightsOf(acls.get(folder) ?? [], "d:", `u:${account.userId}`).startsWith("r");
  const isCommon = isFileClosed && !isPrepared && !(await holdsOnlyItsLike(folder, file));
  const fileAcl = acls.get(file) ?? null;
  const firstOfUser = passed.findIndex(({ stat }) => stat.userId !== 0);
  const steps: GrantStep[] = [];
  for (const [index, entry] of passed.entries()) {
    const acl = acls.get(entry);
    const has = rights.get(entry);
    // A link has neither; and the path may come by again.
    if (acl === undefined || has === undefined || passed.indexOf(entry) < index) continue;
    // Folders need execute. The file's own folder needs read too, for inotify(7).
    const needed = entry === file ? "r--" : entry === folder ? "r-x" : "--x";
    const isMet = (has.reads || !needed.startsWith("r")) && (has.enters || !needed.endsWith("x"));
    const newFilesLike = entry === folder && isFileClosed && !isCommon ? fileAcl : null;
    if (isMet && newFilesLike === null) continue;
    if (entry.stat.userId === 0 && firstOfUser !== -1 && firstOfUser < index) {
      const what = `user ${passed[firstOfUser]?.stat.userId} leads to ${entry.path}, which belongs to root`;
      return refused(path, what, "use a path without folders and links of other users");
    }
    steps.push({ entry, acl, right: isMet ? NOTHING : needed, newFilesLike });
  }
  return { steps, notes: isCommon ? [noteOfCommonFolder(folder, file)] : [] };
}

function refused(where: string, what: string, fix: string): Problem {
  return { code: "grant-refused", what, where, fix };
}

const STICKY = 0o1000;

/** Refuses a path on which more than one user besides root can replace an entry. */
async function refuseSharedPath(
  runProgram: RunProgram,
  where: string,
  passed: readonly OpenEntry[],
  acls: ReadonlyMap<OpenEntry, Acl>,
): Promise<Problem | null> {
  let controller: number | null = null;
  for (const entry of passed) {
    const { path, stat } = entry;
    if (stat.userId !== 0) controller ??= stat.userId;
    if (stat.userId !== 0 && stat.userId !== controller) {
      const what = `the path goes through entries of user ${controller} to ${path}, which belongs to user ${stat.userId}`;
      return refused(where, what, "use a path whose folders and links all belong to root or to one user");
    }
    const stranger = await findStranger(runProgram, entry, acls.get(entry) ?? [], controller);
    if (stranger === null) continue;
    const fix = /^[ug]:/.test(stranger) ? `setfacl -x ${stranger}` : "let only its owner write there: chmod go-w";
    return refused(where, `${stranger} can replace entries of ${path}`, `${fix} ${shellWord(path)}`);
  }
  return null;
}

/** Who besides root and the user that controls the path up to here may write to the folder; null where nobody may. */
async function findStranger(
  runProgram: RunProgram,
  { stat }: OpenEntry,
  acl: Acl,
  controller: number | null,
): Promise<string | null> {
  // With the sticky bit, only the owner of an entry can replace it.
  if (stat.kind !== "directory" || (stat.mode & STICKY) !== 0) return null;
  const trusted = new Set(["u:", "u:0", `u:${controller}`]);
  // The widest first: everybody stands last.
  for (const { list, who, effective } of acl.toReversed()) {
    if (list !== "" || effective.charAt(1) !== "w" || trusted.has(who)) continue;
    if (who === "o:") return "any user";
    if (who !== "g:") return who;
    if (!(await isPrivateGroup(runProgram, stat))) return `group ${stat.groupId}`;
  }
  return null;
}

/** A group of the owner alone, such as the one that most distributions create for each user: it has the user's name and no members. */
async function isPrivateGroup(runProgram: RunProgram, { userId, groupId }: OpenEntry["stat"]): Promise<boolean> {
  const owner = await lookUpAccount(runProgram, String(userId));
  const [group] = await lookUpGroups(runProgram, [String(groupId)]);
  if (owner === null || group === undefined || owner.groupId !== groupId) return false;
  return group.name === owner.name && group.members.every((member) => member === owner.name);
}

const READ_BY_OTHERS = 0o044;
const FOLDER_LIMIT = 4096;

/**
 * Whether the folder holds nothing but files that the same users may read as this one. A default list opens every new file to the agent, and
 * replaces the umask (acl(5)): a home or another folder for many things must not get one.
 */
async function holdsOnlyItsLike(folder: OpenEntry, file: OpenEntry): Promise<boolean> {
  if ((folder.stat.mode & STICKY) !== 0) return false;
  const shown = `/proc/self/fd/${folder.descriptor}`;
  const names = await readdir(shown);
  if (names.length > FOLDER_LIMIT || names.some((name) => name.startsWith("."))) return false;
  for (const name of names) {
    try {
      const stat = await lstat(`${shown}/${name}`);
      if (stat.isSymbolicLink()) continue;
      if (stat.isDirectory() || ((stat.mode ^ file.stat.mode) & READ_BY_OTHERS) !== 0) return false;
    } catch (error) {
      // Removed meanwhile.
      if (errorCode(error) !== "ENOENT") throw error;
    }
  }
  return true;
}

function noteOfCommonFolder(folder: OpenEntry, file: OpenEntry): string {
  return `${folder.path} also holds unrelated files, so the grant does not cover new files there: a program that replaces ${file.path} by a new file makes it unreadable for the agent. Keep the file in a folder of its own, or: --method owner`;
}

/** A file that was granted before and lost the right: the program that writes it resets it each time. */
function noteOfLoss({ entry: { path, stat } }: GrantStep, record: GrantRecord): readonly string[] {
  if (stat.kind !== "file" || !record.entries.some((granted) => granted.path === path)) return [];
  return [
    `${path} was granted before, but the program that writes it removed the right again, and will do so each time. --method owner is not affected.`,
  ];
}

/** The change in words. */
export function describeStep({ entry, right, newFilesLike }: GrantStep, account: Account): string {
  const user = accountName(account);
  const verb = entry.stat.kind === "file" ? "read" : right.startsWith("r") ? "list and enter" : "enter";
  const may = right === NOTHING ? [] : [`${user} may ${verb} (${right})`];
  const later = newFilesLike === null ? [] : [`${user} may read new files in it (default r--)`];
  return `${entry.path}: ${[...may, ...later].join("; ")}`;
}

/**
 * The record is on disk before the first change, so that `--revoke` also works after a power cut; to revoke a change that was never made does
 * nothing.
 *
 * @returns the problem that stopped it, or null. @throws Node system errors of the record.
 */
export async function applyLists(
  { files, runProgram }: GrantMachine,
  { userId }: Account,
  steps: readonly GrantStep[],
  record: GrantRecord,
  directory: string,
): Promise<Problem | null> {
  await writeGrantRecord(files, directory, { ...record, entries: entriesWith(record, steps, userId) });
  for (const { entry, acl, right, newFilesLike } of steps) {
    const now = right === NOTHING ? [] : grantEntries(acl, "", userId, right);
    const later = newFilesLike === null ? [] : newFilesEntries(acl, newFilesLike, userId);
    const problem = await changeAcl(runProgram, entry, [`--modify=${[...now, ...later].join(",")}`]);
    if (problem !== null) return problem;
  }
  return null;
}

/** What the user had before the first grant counts. */
function entriesWith(record: GrantRecord, steps: readonly GrantStep[], userId: number): readonly GrantedEntry[] {
  const keyOf = (entry: Pick<GrantedEntry, "path" | "user_id">) => `${entry.user_id} ${entry.path}`;
  const entries = new Map(record.entries.map((entry) => [keyOf(entry), entry]));
  for (const { entry, acl, newFilesLike } of steps) {
    const newFiles = newFilesLike === null ? "none" : hasDefault(acl) ? "added" : "created";
    const before = rightsOf(acl, "", `u:${userId}`);
    const now = { path: entry.path, new_files: newFiles, user_id: userId, right_before: before } as const;
    const known = entries.get(keyOf(now)) ?? now;
    entries.set(keyOf(now), { ...known, new_files: known.new_files === "none" ? newFiles : known.new_files });
  }
  return [...entries.values()];
}
