import { chownSync, readdirSync } from "node:fs";

import { readGroups, readUsers } from "../../access/account.ts";
import { readBounded, removeIfPresent } from "../../platform/files/durable-file.ts";
import { type EntryHandle, openBelow } from "../../platform/files/entry-handle.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type AccessList, changesBack, defaultsBack, type EntryLists, parseLists, withoutUser } from "./acl.ts";
import { changeLists, readLists } from "./lists.ts";
import { type GrantedEntry, type GrantMachine, type GrantRecord, writeGrantRecord } from "./record.ts";
import { type People, walkToEntry } from "./walk.ts";

export interface Revocation {
  /** Paths without any grant now. */
  readonly revoked: readonly string[];
  /** What could not be revoked, and how to do it by hand; it stays in the record. */
  readonly problems: readonly Problem[];
}

/**
 * Revokes everything in the record. A list that is unchanged since the grant is restored; from a changed list only the agent's entry is
 * removed.
 *
 * @throws Node system errors of the record.
 */
export async function revokeGrant(machine: GrantMachine, record: GrantRecord, directory: string): Promise<Revocation> {
  const people = { groups: await readGroups(machine.files), users: await readUsers(machine.files) };
  const revoked: string[] = [];
  const problems: Problem[] = [];
  const left: GrantedEntry[] = [];
  for (const entry of record.entries.toReversed()) {
    using stack = new DisposableStack();
    const problem = await revokeEntry(machine, entry, people, stack);
    if (problem === null) revoked.push(entry.path);
    else {
      problems.push(problem);
      left.unshift(entry);
    }
  }
  const dropIn =
    record.drop_in === null || (await revokeDropIn(machine, record.drop_in, problems)) ? null : record.drop_in;
  if (record.drop_in !== null && dropIn === null) revoked.push(record.drop_in.path);
  const given = record.given === null || takeBack(record.given, people, problems) ? null : record.given;
  await writeGrantRecord(machine.files, directory, { ...record, entries: left, drop_in: dropIn, given });
  return { revoked, problems };
}

async function revokeEntry(
  machine: GrantMachine,
  granted: GrantedEntry,
  people: People,
  stack: DisposableStack,
): Promise<Problem | null> {
  const { path, user_id: userId } = granted;
  const byHand = `setfacl -x u:${userId} ${shellWord(path)}`;
  const way = walkToEntry(path, people, stack);
  if (way.kind === "missing") return null;
  if (way.kind === "refused") return { code: "revoke-refused", what: way.what, where: path, fix: byHand };
  const { handle } = way.file;
  const now = await listsOf(machine, handle, path);
  const before = parseLists(granted.before);
  const after = parseLists(granted.after);
  if (now === undefined || before === null || after === null) return unreadable(path, byHand);
  const failed = await change(machine, handle, changesBack(now, before, after, userId));
  if (failed !== null) return { ...failed, fix: byHand };
  if (before.default !== null || after.default === null) return null;
  const left = await cleanFolder(machine, handle, userId, after.default);
  return left === null ? null : { ...left, fix: `setfacl -R -x u:${userId} ${shellWord(path)}` };
}

/** @param path that the entry must still have. */
async function listsOf(
  { runProgram }: GrantMachine,
  entry: EntryHandle,
  path: string,
): Promise<EntryLists | undefined> {
  const read = await readLists(runProgram, [entry]);
  return read.kind === "lists" ? read.of.get(path)?.lists : undefined;
}

function unreadable(where: string, fix: string): Problem {
  return { code: "revoke-failed", what: "its access list cannot be read", where, fix };
}

/** Each level needs an open descriptor. */
const DEPTH_LIMIT = 64;

/**
 * Removes the agent's entry from everything created in the folder since the grant, which inherited it from the default list.
 *
 * @returns the problem that stopped it, or null.
 */
async function cleanFolder(
  machine: GrantMachine,
  folder: EntryHandle,
  userId: number,
  granted: AccessList,
  depth = DEPTH_LIMIT,
): Promise<Problem | null> {
  for (const name of readdirSync(`/proc/self/fd/${folder.descriptor}`)) {
    using entry = openIfPresent(folder, name);
    if (entry === null || entry.stat.kind === "link" || entry.stat.userId !== folder.stat.userId) continue;
    const problem = await cleanEntry(machine, entry, userId, granted, depth);
    if (problem !== null) return problem;
  }
  return null;
}

/** A folder's own entry goes last: it tells a repeat that something below it is left. */
async function cleanEntry(
  machine: GrantMachine,
  entry: EntryHandle,
  userId: number,
  granted: AccessList,
  depth: number,
): Promise<Problem | null> {
  const now = await listsOf(machine, entry, entry.path);
  const byHand = `setfacl -x u:${userId} ${shellWord(entry.path)}`;
  if (now === undefined) return unreadable(entry.path, byHand);
  const own = withoutUser(now.access, userId, "");
  if (own.length === 0) return null;
  const failed = await change(machine, entry, defaultsBack(now.default, null, granted, userId));
  if (failed !== null) return failed;
  if (entry.stat.kind === "directory") {
    if (depth === 0) return { code: "revoke-failed", what: "its folders are too deep", where: entry.path, fix: byHand };
    const problem = await cleanFolder(machine, entry, userId, granted, depth - 1);
    if (problem !== null) return problem;
  }
  return change(machine, entry, own);
}

/** One call, so that a list has either its old or its new entries. */
async function change({ runProgram }: GrantMachine, entry: EntryHandle, words: readonly string[]) {
  return words.length === 0 ? null : changeLists(runProgram, entry, ["--no-mask", ...words]);
}

/** @returns null for an entry that was removed meanwhile. */
function openIfPresent(folder: EntryHandle, name: string): EntryHandle | null {
  try {
    return openBelow(folder, name);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return null;
  }
}

/** @returns whether the file has its first owner again, or needs no change. */
function takeBack(given: NonNullable<GrantRecord["given"]>, people: People, problems: Problem[]): boolean {
  using stack = new DisposableStack();
  const { path, from_user_id: fromUserId, from_group_id: fromGroupId, to_user_id: toUserId } = given;
  const way = walkToEntry(path, people, stack);
  if (way.kind === "missing") return true;
  if (way.kind === "way" && way.file.handle.stat.userId !== toUserId) return true;
  const fix = `chown ${fromUserId}:${fromGroupId} ${shellWord(path)}`;
  if (way.kind === "refused") {
    problems.push({ code: "revoke-refused", what: way.what, where: path, fix });
    return false;
  }
  chownSync(`/proc/self/fd/${way.file.handle.descriptor}`, fromUserId, fromGroupId);
  return true;
}

/** Leaves a drop-in that somebody edited. @returns whether it was removed. */
async function revokeDropIn(
  { files }: GrantMachine,
  { path, text }: NonNullable<GrantRecord["drop_in"]>,
  problems: Problem[],
): Promise<boolean> {
  try {
    const bytes = await readBounded(files, path, text.length * 4 + 1);
    if (bytes === "too-large" || Buffer.from(bytes).toString("utf8") !== text) {
      problems.push({
        code: "revoke-refused",
        what: "somebody edited this drop-in",
        where: path,
        fix: `rm ${path}, if it is not wanted any more`,
      });
      return false;
    }
    await removeIfPresent(files, path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return true;
    if (code === undefined) throw error;
    problems.push({ code: "revoke-failed", what: `it cannot be removed (${code})`, where: path, fix: `rm ${path}` });
    return false;
  }
}
