/**
 * The grant: the least access that lets the agent's user read the robot's configuration files.
 *
 *     walk    open each entry of the path to a file                                     walk.ts
 *     plan    rights that the user lacks there → changes of access control lists        here, lists.ts; or a drop-in, unit.ts
 *     apply   record first, so that every change can be revoked                         apply.ts, record.ts, revoke.ts
 *
 * Root works here in folders of users who may attack it. So each change is made on an open descriptor, never by name; and behind a folder or
 * link that a user controls, only entries of that user are changed. The rights of "others" never change.
 */
import { dirname } from "node:path";

import { judgeHandles, type Rights } from "../../access/judge.ts";
import { type Account, accountName, readGroups, readUsers } from "../../access/account.ts";
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import {
  defaultEntries,
  type EntryLists,
  grantEntries,
  type Permissions,
  PERMISSIONS,
  permissionsText,
} from "./acl.ts";
import { isCommonFolder } from "./common-folder.ts";
import { type Listed, readLists } from "./lists.ts";
import type { GrantMachine } from "./record.ts";
import { type GrantWalk, walkTrusted } from "./walk.ts";

/** A change to one entry's access control list. */
export interface GrantStep {
  readonly entry: EntryHandle;
  /** What the user gets; `r-x` on a folder: list and enter. */
  readonly right: Permissions;
  /** Also changes the folder's default list, so that the user can read new files in it. */
  readonly forNewFiles: boolean;
  /** As getfacl printed it. */
  readonly before: string;
  /** For `setfacl --no-mask --modify`. */
  readonly entries: readonly string[];
}

export interface GrantPlan {
  readonly steps: readonly GrantStep[];
  /** Files that cannot be granted by access lists, and why. */
  readonly refusals: readonly Problem[];
  /** What the operator should know about the result. */
  readonly notes: readonly string[];
}

/** Each file needs several open descriptors. */
export const FILE_LIMIT = 64;

/** @param stack owns the handles of the plan: apply the plan before disposing it. */
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
      // Report it once, not for each file.
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

/** What one file needs of an entry of its path. Several files may need the same folder. */
interface Wish {
  readonly entry: EntryHandle;
  readonly right: Permissions;
  /** The mode of the file whose replacements the user must be able to read; null where new files do not matter. */
  readonly newFilesLike: number | null;
  readonly listed: Listed;
}

function joined(known: Wish | undefined, wish: Wish): Wish {
  if (known === undefined) return wish;
  const newFilesLike = known.newFilesLike ?? wish.newFilesLike;
  return { ...known, right: known.right | wish.right, newFilesLike };
}

function stepOf({ entry, right, newFilesLike, listed }: Wish, account: Account): GrantStep {
  const { access, default: preset } = listed.lists;
  const now = right === 0 ? [] : grantEntries(access, account.userId, right);
  const later = newFilesLike === null ? [] : defaultEntries(preset, account.userId, newFilesLike);
  return { entry, right, forNewFiles: later.length > 0, before: listed.text, entries: [...now, ...later] };
}

interface Refused {
  readonly kind: "refused";
  readonly what: string;
  readonly fix: string;
  /** Holds for every file. */
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
  // By path, not the last of the list: a link may lead back to an earlier folder.
  const folder = handles.find(({ path: each }) => each === dirname(file.path));
  const isFileClosed = rights.get(file.path)?.reads === false;
  const isPrepared = lists.of.get(folder?.path ?? "")?.lists.default?.named.has(`u:${account.userId}`) === true;
  const isCommon = isFileClosed && !isPrepared && folder !== undefined && (await isCommonFolder(folder, file, machine));
  const wishes: Wish[] = [];
  for (const { handle, controlledBy } of passed) {
    const listed = lists.of.get(handle.path);
    const right = rights.get(handle.path);
    if (listed === undefined || right === undefined)
      return refused(
        `${handle.path}: the rights of ${accountName(account)} cannot be checked`,
        "setpriv is missing: install util-linux",
      );
    const shared = sharedWith(handle, controlledBy, listed.lists);
    if (shared !== null)
      return refused(
        `${path}: the access list of ${handle.path} lets ${shared} replace its entries`,
        "remove that right: setfacl -x",
      );
    const missing = missingRight(right, handle === file ? "file" : handle === folder ? "own-folder" : "folder");
    const newFilesLike = handle === folder && isFileClosed && !isCommon ? file.stat.mode : null;
    if (missing === 0 && newFilesLike === null) continue;
    if (controlledBy !== null && handle.stat.userId !== controlledBy) {
      const what = `${path}: user ${controlledBy} leads to ${handle.path}, which belongs to user ${handle.stat.userId}`;
      return refused(what, "use a path without folders and links of other users");
    }
    wishes.push({ entry: handle, right: missing, newFilesLike, listed });
  }
  return { kind: "planned", wishes, note: isCommon ? noteOfCommonFolder(folder, file) : null };
}

function noteOfCommonFolder(folder: EntryHandle, file: EntryHandle): string {
  return `${folder.path} also holds unrelated files, so the grant does not cover new files there: a program that replaces ${file.path} by a new file makes it unreadable for the agent. Keep the file in a folder of its own, or: --method owner`;
}

/** Folders need execute. The file's own folder needs read too, for inotify(7). */
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

/** The first user or group besides root and the owner that may write to the folder by its access list. Modes: see walk.ts. */
function sharedWith({ stat }: EntryHandle, controlledBy: number | null, { access }: EntryLists): string | null {
  if (stat.kind !== "directory" || (stat.mode & 0o1000) !== 0) return null;
  const writer = [...access.named].find(([key, permissions]) => {
    const isOwner = key === `u:${stat.userId}` || key === "u:0" || key === `u:${controlledBy}`;
    return !isOwner && (permissions & (access.mask ?? 7) & PERMISSIONS.write) !== 0;
  });
  return writer?.[0] ?? null;
}

/** The change as a person would type it. */
export function commandOf({ entry, entries }: GrantStep): string {
  return `setfacl -n -m ${entries.join(",")} ${shellWord(entry.path)}`;
}

export function describeStep({ entry, right, forNewFiles }: GrantStep, account: Account): string {
  const verb =
    entry.stat.kind === "directory" ? ((right & PERMISSIONS.read) === 0 ? "enter" : "list and enter") : "read";
  const may = right === 0 ? "" : `${accountName(account)} may ${verb} (${permissionsText(right)})`;
  const later = forNewFiles ? `${accountName(account)} may read new files in it (default r--)` : "";
  return [may, later].filter((part) => part !== "").join("; ");
}

function refused(what: string, fix: string): Refused {
  return { kind: "refused", what, fix };
}
