/**
 * The grant: the smallest right to read that lets the agent's user reach the robot's configuration files, and nothing more.
 *
 *     walk    the way to each file, held open entry by entry                              walk.ts
 *     plan    what the user lacks on the way → changes of access control lists            here, lists.ts; or a drop-in, unit.ts
 *     apply   written down first, so that whatever was done can be taken back             apply.ts, record.ts, revoke.ts
 *
 * Root works here in folders of people who may be hostile to it: every change is made on an open handle, never on a name, and where a
 * person could have sent us elsewhere, only what is that person's is touched. What everybody may do never changes.
 */
import { dirname } from "node:path";

import type { Rights } from "../../access/access.ts";
import { judgeHandles } from "../../access/access.ts";
import type { Account } from "../../access/account.ts";
import { accountName, readGroups, readUsers } from "../../access/account.ts";
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { EntryLists, Permissions } from "./acl.ts";
import { PERMISSIONS, defaultEntries, grantEntries, permissionsText } from "./acl.ts";
import { isCommonFolder } from "./common-folder.ts";
import type { Listed } from "./lists.ts";
import { readLists } from "./lists.ts";
import type { GrantMachine } from "./machine.ts";
import type { GrantWalk } from "./walk.ts";
import { walkTrusted } from "./walk.ts";

/** A change of one entry's access control list. */
export interface GrantStep {
  readonly entry: EntryHandle;
  /** What the user gets: `r-x` on a folder lists and enters it. */
  readonly right: Permissions;
  /** The default list of a folder is changed too, so that what is made in it later can be read. */
  readonly forNewFiles: boolean;
  /** As getfacl printed it. */
  readonly before: string;
  /** For `setfacl --no-mask --modify`. */
  readonly entries: readonly string[];
}

export interface GrantPlan {
  readonly steps: readonly GrantStep[];
  /** Files for which nothing can be done in this way, and why. */
  readonly refusals: readonly Problem[];
  /** What a person should know of what is granted. */
  readonly notes: readonly string[];
}

/** More would be a mistake, and would need too many handles. */
export const FILE_LIMIT = 64;

/** @param stack closes the handles of the plan; it has to be applied before. */
export async function planGrant(
  machine: GrantMachine,
  account: Account,
  paths: readonly string[],
  stack: DisposableStack,
): Promise<GrantPlan> {
  const people = { groups: await readGroups(machine.files), users: await readUsers(machine.files) };
  const wishes = new Map<string, Wish>();
  const refusals: Problem[] = [];
  const notes: string[] = [];
  for (const path of paths) {
    const way = walkTrusted(path, people, stack);
    const planned = way.kind === "way" ? await planFile(machine, account, path, way) : refusalOf(way, path);
    if (planned.kind === "refused") {
      const refusal: Problem = { code: "grant-refused", what: planned.what, fix: planned.fix };
      // Said once: each other file would be told the same.
      if (planned.ofMachine === true) return { steps: [], refusals: [...refusals, refusal], notes: [] };
      refusals.push({ ...refusal, where: path });
      continue;
    }
    if (planned.note !== null) notes.push(planned.note);
    for (const wish of planned.wishes) wishes.set(wish.entry.path, joined(wishes.get(wish.entry.path), wish));
  }
  return { steps: [...wishes.values()].map((wish) => stepOf(wish, account)), refusals, notes };
}

function refusalOf(way: Exclude<GrantWalk, { kind: "way" }>, path: string): Refused {
  return way.kind === "refused"
    ? way
    : refused(`${path} does not exist`, "create it, or correct the path in the manifest");
}

/** What one file asks of an entry on its way; several files may ask of the same folder. */
interface Wish {
  readonly entry: EntryHandle;
  readonly right: Permissions;
  /** The mode of the file whose successors are to be readable; null where new files do not matter. */
  readonly new_files_like: number | null;
  readonly listed: Listed;
}

function joined(known: Wish | undefined, wish: Wish): Wish {
  if (known === undefined) return wish;
  const { new_files_like: newFilesLike } = known;
  return { ...known, right: known.right | wish.right, new_files_like: newFilesLike ?? wish.new_files_like };
}

function stepOf({ entry, right, new_files_like: newFilesLike, listed }: Wish, account: Account): GrantStep {
  const { access, default: preset } = listed.lists;
  const now = right === 0 ? [] : grantEntries(access, account.user_id, right);
  const later = newFilesLike === null ? [] : defaultEntries(preset, account.user_id, newFilesLike);
  return { entry, right, forNewFiles: later.length > 0, before: listed.text, entries: [...now, ...later] };
}

interface Refused {
  readonly kind: "refused";
  readonly what: string;
  readonly fix: string;
  /** Whatever the file. */
  readonly ofMachine?: boolean;
}

interface PlannedFile {
  readonly kind: "planned";
  readonly wishes: readonly Wish[];
  readonly note: string | null;
}

async function planFile(
  machine: GrantMachine,
  account: Account,
  path: string,
  way: Extract<GrantWalk, { kind: "way" }>,
): Promise<PlannedFile | Refused> {
  const { runProgram } = machine;
  const passed = [...way.folders, way.file];
  const handles = passed.map(({ handle }) => handle);
  const rights = await judgeHandles(account, runProgram, handles);
  const lists = await readLists(runProgram, handles);
  if (lists.kind === "refused") return lists;

  const file = way.file.handle;
  // Not the last one: a link may lead back to one that was passed before.
  const folder = handles.find(({ path: each }) => each === dirname(file.path));
  const isFileClosed = rights.get(file.path)?.reads === false;
  const isPrepared = lists.of.get(folder?.path ?? "")?.lists.default?.named.has(`u:${account.user_id}`) === true;
  const isCommon = isFileClosed && !isPrepared && folder !== undefined && (await isCommonFolder(folder, file, machine));
  const wishes: Wish[] = [];
  for (const { handle, sentBy } of passed) {
    const listed = lists.of.get(handle.path);
    const right = rights.get(handle.path);
    if (listed === undefined || right === undefined)
      return refused(
        `${handle.path}: the kernel could not be asked as ${accountName(account)}`,
        "setpriv is missing: install util-linux",
      );
    const shared = sharedWith(handle, sentBy, listed.lists);
    if (shared !== null)
      return refused(
        `${path}: the access list of ${handle.path} lets ${shared} put something else in place there`,
        "take that right away, or: --method group",
      );
    const missing = missingRight(right, handle === file ? "file" : handle === folder ? "own-folder" : "folder");
    const newFilesLike = handle === folder && isFileClosed && !isCommon ? file.stat.mode : null;
    if (missing === 0 && newFilesLike === null) continue;
    if (sentBy !== null && handle.stat.user_id !== sentBy) {
      const what = `${path}: user ${sentBy} leads to ${handle.path}, which belongs to user ${handle.stat.user_id}`;
      return refused(what, "name the file by a path that leads through nobody else's folders and links");
    }
    wishes.push({ entry: handle, right: missing, new_files_like: newFilesLike, listed });
  }
  return { kind: "planned", wishes, note: isCommon ? noteOfCommonFolder(folder, file) : null };
}

function noteOfCommonFolder(folder: EntryHandle, file: EntryHandle): string {
  return `other things are made in ${folder.path} too, so what is made there later is left alone: a program that puts a new ${file.path} in place of the old one shuts the agent out. Keep the file in a folder of its own, or: --method owner`;
}

/** A folder's own right is to be entered; the file's folder is listed too, without which the kernel tells of no changes in it (inotify(7)). */
function missingRight({ reads, enters }: Rights, what: "folder" | "own-folder" | "file"): Permissions {
  const { read, execute } = PERMISSIONS;
  switch (what) {
    case "folder":
      return enters ? 0 : execute;
    case "own-folder":
      return enters && reads ? 0 : read | execute;
    case "file":
      return reads ? 0 : read;
  }
}

/** Somebody beside root and the owner whom an access list lets put one thing in another's place; modes are looked at on the walk. */
function sharedWith({ stat }: EntryHandle, sentBy: number | null, { access }: EntryLists): string | null {
  if (stat.kind !== "directory" || (stat.mode & 0o1000) !== 0) return null;
  const writer = [...access.named].find(([key, permissions]) => {
    const isOwner = key === `u:${stat.user_id}` || key === "u:0" || key === `u:${sentBy}`;
    return !isOwner && (permissions & (access.mask ?? 7) & PERMISSIONS.write) !== 0;
  });
  return writer?.[0] ?? null;
}

/** The change as a person would type it. */
export function commandOf({ entry, entries }: GrantStep): string {
  return `setfacl -n -m ${entries.join(",")} ${shellWord(entry.path)}`;
}

/** In words. */
export function describeStep({ entry, right, forNewFiles }: GrantStep, account: Account): string {
  const verb =
    entry.stat.kind === "directory" ? ((right & PERMISSIONS.read) === 0 ? "enter" : "list and enter") : "read";
  const may = right === 0 ? "" : `${accountName(account)} may ${verb} (${permissionsText(right)})`;
  const later = forNewFiles ? `${accountName(account)} may read what is made in it later (default r--)` : "";
  return [may, later].filter((part) => part !== "").join("; ");
}

function refused(what: string, fix: string): Refused {
  return { kind: "refused", what, fix };
}
