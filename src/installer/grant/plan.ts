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
  readonly acl: Acl;
  /** What the user gets; `r-x` on a folder: list and enter. */
  readonly right: Permissions;
  /** The list of the file whose replacements the user must be able to read in this folder; null where new files do not matter. */
  readonly newFilesLike: Acl | null;
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

  const steps = new Map<OpenEntry, GrantStep>();
  const problems: Problem[] = [];
  const notes: string[] = [];
  for (const [path, each] of closed) {
    const planned = await planFile(runProgram, account, each, acls);
    if (planned.kind === "refused") {
      problems.push({ code: "grant-refused", what: planned.what, where: path, fix: planned.fix });
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

/** Whether the user can read the file, and list its folder. */
function isOpen(examined: ExaminedPath): boolean {
  const folder = folderOf(examined);
  return examined.whole?.reads === true && (folder === undefined || examined.rights.get(folder)?.reads !== false);
}

interface Refused {
  readonly kind: "refused";
  readonly what: string;
  readonly fix: string;
}

interface PlannedFile {
  readonly kind: "planned";
  readonly steps: readonly GrantStep[];
  readonly notes: readonly string[];
}

async function planFile(
  runProgram: RunProgram,
  account: Account,
  examined: ExaminedPath,
  acls: ReadonlyMap<OpenEntry, Acl>,
): Promise<PlannedFile | Refused> {
  const { passed, target: file, code, rights } = examined;
  const folder = folderOf(examined);
  if (file === null)
    return refused(ENDED[code ?? ""] ?? `root cannot read it (${code})`, "correct the path in the manifest");
  if (file.stat.kind !== "file" || folder === undefined)
    return refused("it is not a regular file", "list the files themselves");
  const shared = await refuseSharedPath(runProgram, passed, acls);
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
    const right = missingRight(has, entry === file ? "file" : entry === folder ? "own-folder" : "folder");
    const newFilesLike = entry === folder && isFileClosed && !isCommon ? fileAcl : null;
    if (right === NOTHING && newFilesLike === null) continue;
    if (entry.stat.userId === 0 && firstOfUser !== -1 && firstOfUser < index) {
      const what = `user ${passed[firstOfUser]?.stat.userId} leads to ${entry.path}, which belongs to root`;
      return refused(what, "use a path without folders and links of other users");
    }
    steps.push({ entry, acl, right, newFilesLike });
  }
  return { kind: "planned", steps, notes: isCommon ? [noteOfCommonFolder(folder, file)] : [] };
}

/** Why a path ends, by the code of the system. */
const ENDED: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "it does not exist",
  ELOOP: "its symbolic links form a loop",
};

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

const STICKY = 0o1000;

/** Refuses a path on which more than one user besides root can replace an entry. */
async function refuseSharedPath(
  runProgram: RunProgram,
  passed: readonly OpenEntry[],
  acls: ReadonlyMap<OpenEntry, Acl>,
): Promise<Refused | null> {
  let controller: number | null = null;
  for (const entry of passed) {
    const { path, stat } = entry;
    if (stat.userId !== 0) controller ??= stat.userId;
    if (stat.userId !== 0 && stat.userId !== controller) {
      const what = `the path goes through entries of user ${controller} to ${path}, which belongs to user ${stat.userId}`;
      return refused(what, "use a path whose folders and links all belong to root or to one user");
    }
    const stranger = await findStranger(runProgram, entry, acls.get(entry) ?? [], controller);
    if (stranger === null) continue;
    const fix = /^[ug]:/.test(stranger) ? `setfacl -x ${stranger}` : "let only its owner write there: chmod go-w";
    return refused(`${stranger} can replace entries of ${path}`, `${fix} ${shellWord(path)}`);
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

/** For `setfacl --modify`. */
export function changesOf({ acl, right, newFilesLike }: GrantStep, { userId }: Account): readonly string[] {
  const now = right === NOTHING ? [] : grantEntries(acl, "", userId, right);
  return newFilesLike === null ? now : [...now, ...newFilesEntries(acl, newFilesLike, userId)];
}

/** The change in words, and as a person would type it. */
export function describeStep(step: GrantStep, account: Account) {
  const { entry, right, newFilesLike } = step;
  const user = accountName(account);
  const verb = entry.stat.kind === "file" ? "read" : right.startsWith("r") ? "list and enter" : "enter";
  const may = right === NOTHING ? [] : [`${user} may ${verb} (${right})`];
  const later = newFilesLike === null ? [] : [`${user} may read new files in it (default r--)`];
  const command = `setfacl -m ${changesOf(step, account).join(",")} ${shellWord(entry.path)}`;
  return { path: entry.path, what: [...may, ...later].join("; "), command };
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
