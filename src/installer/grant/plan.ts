/**
 * Which access lists to change, so that the agent's user can read the files, with the least rights.
 *
 * Root works here in folders of users who may attack it. So each change is made on an open entry, never by name. A path is refused that
 * anybody besides root and one more user can redirect; and behind a folder or link of that user, only entries of that user are changed.
 * The rights of everybody else stay as they are.
 */
import { lstat, readdir } from "node:fs/promises";

import { type ExaminedPath, examinePaths, folderOf, probeAs, type Rights } from "../../access/access.ts";
import { type Account, accountName, lookUpAccount, lookUpGroups } from "../../access/account.ts";
import type { OpenEntries, OpenEntry } from "../../access/open-path.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import {
  type Acl,
  grantEntries,
  hasDefault,
  type NewFiles,
  newFilesEntries,
  NOTHING,
  type Permissions,
  readAcls,
  rightsOf,
  union,
} from "./acl.ts";
import type { GrantRecord } from "./record.ts";

/** A change of one entry's access lists. */
export interface GrantStep {
  readonly entry: OpenEntry;
  /** What the user gets; `r-x` on a folder: list and enter. */
  readonly right: Permissions;
  readonly rightBefore: Permissions;
  /** Changes the folder's default list, so that the user can read new files in it. */
  readonly newFiles: NewFiles;
  /** For `setfacl --modify`. */
  readonly changes: readonly string[];
}

export interface ListsPlan {
  readonly steps: readonly GrantStep[];
  /** Why files cannot be granted. */
  readonly problems: readonly Problem[];
  /** What the operator should know about the result. */
  readonly notes: readonly string[];
}

/** @param opened owns the entries of the plan: apply the plan before it ends. */
export async function planLists(
  runProgram: RunProgram,
  account: Account,
  paths: readonly string[],
  record: GrantRecord,
  opened: OpenEntries,
): Promise<ListsPlan> {
  const examined = await examinePaths(probeAs(account, runProgram), paths, opened);
  const closed = [...examined].filter(([, each]) => !isOpen(each));
  if (closed.length === 0) return { steps: [], problems: [], notes: [] };
  if (closed.some(([, { whole }]) => whole === undefined)) return onlyProblem(notAsked(account));
  const passed = new Set(closed.flatMap(([, each]) => each.passed.filter(({ stat }) => stat.kind !== "link")));
  const acls = await readAcls(runProgram, [...passed]);
  if ("code" in acls) return onlyProblem(acls);

  const wishes = new Map<OpenEntry, Wish>();
  const problems: Problem[] = [];
  const notes: string[] = [];
  for (const [path, each] of closed) {
    const planned = await planFile(runProgram, account, each, acls);
    if (planned.kind === "refused") {
      problems.push({ code: "grant-refused", what: planned.what, where: path, fix: planned.fix });
      continue;
    }
    notes.push(...planned.notes);
    for (const wish of planned.wishes) wishes.set(wish.entry, joined(wishes.get(wish.entry), wish));
  }
  const steps = [...wishes.values()].map((wish) => stepOf(wish, account));
  return { steps, problems, notes: [...notes, ...steps.flatMap((step) => noteOfLoss(step, record))] };
}

function isOpen(examined: ExaminedPath): boolean {
  const folder = folderOf(examined);
  return examined.whole?.reads === true && (folder === undefined || examined.rights.get(folder)?.reads !== false);
}

/** What one file needs of an entry of its path. Several files may need the same folder. */
interface Wish {
  readonly entry: OpenEntry;
  readonly acl: Acl;
  readonly right: Permissions;
  /** The list of the file whose replacements the user must be able to read; null where new files do not matter. */
  readonly newFilesLike: Acl | null;
}

function joined(known: Wish | undefined, wish: Wish): Wish {
  if (known === undefined) return wish;
  const newFilesLike = known.newFilesLike ?? wish.newFilesLike;
  return { ...known, right: union(known.right, wish.right), newFilesLike };
}

function stepOf({ entry, acl, right, newFilesLike }: Wish, account: Account): GrantStep {
  const now = right === NOTHING ? [] : grantEntries(acl, "", account.userId, right);
  const later = newFilesLike === null ? [] : newFilesEntries(acl, newFilesLike, account.userId);
  const ofList = hasDefault(acl) ? "added" : "created";
  const newFiles = later.length === 0 ? "none" : ofList;
  return { entry, right, rightBefore: rightsOf(acl, "", `u:${account.userId}`), newFiles, changes: [...now, ...later] };
}

interface Refused {
  readonly kind: "refused";
  readonly what: string;
  readonly fix: string;
}

interface PlannedFile {
  readonly kind: "planned";
  readonly wishes: readonly Wish[];
  readonly notes: readonly string[];
}

async function planFile(
  runProgram: RunProgram,
  account: Account,
  examined: ExaminedPath,
  acls: ReadonlyMap<OpenEntry, Acl>,
): Promise<PlannedFile | Refused> {
  const { passed, target, rights } = examined;
  const folder = folderOf(examined);
  const unfit = refuseTarget(examined) ?? (await refuseSharedPath(runProgram, passed, acls));
  if (unfit !== null) return unfit;
  const fileAcl = target === null ? undefined : acls.get(target);
  const folderAcl = folder === undefined ? undefined : acls.get(folder);
  if (target === null || folder === undefined || fileAcl === undefined || folderAcl === undefined)
    return refused("it has no folder", "list the files themselves");

  const isFileClosed = rights.get(target)?.reads === false;
  const isPrepared = rightsOf(folderAcl, "d:", `u:${account.userId}`).startsWith("r");
  const isCommon = isFileClosed && !isPrepared && !(await holdsOnlyItsLike(folder, target));
  const controlled = passed.findIndex(({ stat }) => stat.userId !== 0);
  const wishes: Wish[] = [];
  for (const [index, entry] of passed.entries()) {
    const acl = acls.get(entry);
    const has = rights.get(entry);
    // A link has neither.
    if (acl === undefined || has === undefined || passed.indexOf(entry) < index) continue;
    const right = missingRight(has, entry === target ? "file" : entry === folder ? "own-folder" : "folder");
    const newFilesLike = entry === folder && isFileClosed && !isCommon ? fileAcl : null;
    if (right === NOTHING && newFilesLike === null) continue;
    if (entry.stat.userId === 0 && controlled !== -1 && controlled < index) {
      const user = passed[controlled]?.stat.userId;
      const what = `user ${user} leads to ${entry.path}, which belongs to root`;
      return refused(what, "use a path without folders and links of other users");
    }
    wishes.push({ entry, acl, right, newFilesLike });
  }
  return { kind: "planned", wishes, notes: isCommon ? [noteOfCommonFolder(folder, target)] : [] };
}

/** Folders need execute. The file's own folder needs read too, for inotify(7). */
function missingRight({ reads, enters }: Rights, what: "folder" | "own-folder" | "file"): Permissions {
  switch (what) {
    case "folder":
      return enters ? NOTHING : "--x";
    case "own-folder":
      return enters && reads ? NOTHING : "r-x";
    case "file":
      return reads ? NOTHING : "r--";
  }
}

function refuseTarget({ target, code }: ExaminedPath): Refused | null {
  if (target?.stat.kind === "file") return null;
  if (target !== null) return refused("it is not a regular file", "list the files themselves");
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return refused("it does not exist", "create it, or correct the path in the manifest");
    case "ELOOP":
      return refused("its symbolic links form a loop", "replace the link by one to a file");
    default:
      return refused(`root cannot read it (${code})`, "find out why root may not: is it on a network drive?");
  }
}

const STICKY = 0o1000;
const WRITE_BY_OTHERS = 0o002;

/** Refuses a path on which more than one user besides root can replace an entry. */
async function refuseSharedPath(
  runProgram: RunProgram,
  passed: readonly OpenEntry[],
  acls: ReadonlyMap<OpenEntry, Acl>,
): Promise<Refused | null> {
  let controller: number | null = null;
  for (const entry of passed) {
    const { path, stat } = entry;
    if (stat.userId !== 0) {
      controller ??= stat.userId;
      if (stat.userId !== controller)
        return refused(
          `the path goes through entries of user ${controller} to ${path}, which belongs to user ${stat.userId}`,
          "use a path whose folders and links all belong to root or to one user",
        );
    }
    const acl = acls.get(entry);
    if (acl === undefined || stat.kind !== "directory" || (stat.mode & STICKY) !== 0) continue;
    const shared = await describeSharing(runProgram, entry, acl, controller);
    if (shared !== null) return shared;
  }
  return null;
}

/** In a folder with the sticky bit, only the owner of an entry can replace it. */
async function describeSharing(
  runProgram: RunProgram,
  { path, stat }: OpenEntry,
  acl: Acl,
  controller: number | null,
): Promise<Refused | null> {
  if ((stat.mode & WRITE_BY_OTHERS) !== 0)
    return refused(`any user can replace entries of ${path}`, "let only its owner write there: chmod go-w");
  const writers = acl.filter(({ list, effective }) => list === "" && effective.charAt(1) === "w");
  const trusted = new Set(["u:", "u:0", `u:${stat.userId}`, `u:${controller}`, "g:"]);
  const named = writers.find(({ who }) => !trusted.has(who));
  if (named !== undefined)
    return refused(
      `the access list of ${path} lets ${named.who} replace its entries`,
      `setfacl -x ${named.who} ${shellWord(path)}`,
    );
  if (!writers.some(({ who }) => who === "g:") || (await isPrivateGroup(runProgram, stat))) return null;
  return refused(`group ${stat.groupId} can replace entries of ${path}`, "let only its owner write there: chmod go-w");
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

/** The change as a person would type it. */
export function commandOf({ entry, changes }: GrantStep): string {
  return `setfacl -m ${changes.join(",")} ${shellWord(entry.path)}`;
}

export function describeStep({ entry, right, newFiles }: GrantStep, account: Account): string {
  const verb = entry.stat.kind === "file" ? "read" : right.startsWith("r") ? "list and enter" : "enter";
  const may = right === NOTHING ? [] : [`${accountName(account)} may ${verb} (${right})`];
  const later = newFiles === "none" ? [] : [`${accountName(account)} may read new files in it (default r--)`];
  return [...may, ...later].join("; ");
}

function notAsked(account: Account): Problem {
  const what = `the rights of ${accountName(account)} cannot be checked: setpriv does not run`;
  return { code: "setpriv-missing", what, fix: "install the package util-linux" };
}

function onlyProblem(problem: Problem): ListsPlan {
  return { steps: [], problems: [problem], notes: [] };
}

function refused(what: string, fix: string): Refused {
  return { kind: "refused", what, fix };
}
