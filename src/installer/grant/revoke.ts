import { chownSync, readdirSync } from "node:fs";
import { dirname } from "node:path";

import { readGroups, readUsers } from "../../access/account.ts";
import { readBounded, removeIfPresent } from "../../platform/files/durable-file.ts";
import { type EntryHandle, openBelow, openEntry } from "../../platform/files/entry-handle.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type AccessList, changesBack, defaultsBack, parseLists, withoutUser } from "./acl.ts";
import { changeLists, readListsOf } from "./lists.ts";
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
  { runProgram }: GrantMachine,
  granted: GrantedEntry,
  people: People,
  stack: DisposableStack,
): Promise<Problem | null> {
  const { path, user_id: userId } = granted;
  const entries = granted.after.includes(`default:user:${userId}:`) ? `u:${userId},d:u:${userId}` : `u:${userId}`;
  const byHand = removingByHand(path, entries);
  const way = walkToEntry(path, people, stack);
  if (way.kind === "missing") return null;
  if (way.kind === "refused") {
    const isRevoked = await isRevokedByHand(runProgram, path, userId);
    return isRevoked ? null : { code: "revoke-refused", what: way.what, where: path, fix: byHand };
  }
  const { handle } = way.file;
  // A link may lead elsewhere by now.
  const now = handle.path === path ? await readListsOf(runProgram, handle) : null;
  const before = parseLists(granted.before);
  const after = parseLists(granted.after);
  if (now === null || before === null || after === null) return unreadable(path, byHand);
  const failed = await changeLists(runProgram, handle, changesBack(now.lists, before, after, userId));
  if (failed !== null) return { ...failed, fix: byHand };
  if (before.default !== null || after.default === null) return null;
  const left = await cleanFolder(runProgram, handle, userId, after.default);
  return left === null ? null : { ...left, fix: `${left.fix}; then run grant --revoke again` };
}

/** Without `-n` setfacl computes the mask anew, which gives the group its rights back. */
function removingByHand(path: string, entries: string): string {
  return `setfacl -n -x ${entries} ${shellWord(path)}`;
}

/** Only looks: nothing is changed on a path that others can redirect. */
async function isRevokedByHand(runProgram: RunProgram, path: string, userId: number): Promise<boolean> {
  try {
    using entry = openEntry(path);
    const listed = await readListsOf(runProgram, entry);
    return listed !== null && !listed.text.includes(`user:${userId}:`);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
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
  runProgram: RunProgram,
  folder: EntryHandle,
  userId: number,
  granted: AccessList,
  depth = DEPTH_LIMIT,
): Promise<Problem | null> {
  for (const name of readdirSync(`/proc/self/fd/${folder.descriptor}`)) {
    using entry = openIfPresent(folder, name);
    if (entry === null || entry.stat.kind === "link" || entry.stat.userId !== folder.stat.userId) continue;
    const problem = await cleanEntry(runProgram, entry, userId, granted, depth);
    if (problem !== null) return problem;
  }
  return null;
}

/** A folder's own entry goes last: it tells a repeat that something below it is left. */
async function cleanEntry(
  runProgram: RunProgram,
  entry: EntryHandle,
  userId: number,
  granted: AccessList,
  depth: number,
): Promise<Problem | null> {
  const { path, stat } = entry;
  const byHand = removingByHand(path, `u:${userId}`);
  const now = await readListsOf(runProgram, entry);
  if (now === null) return unreadable(path, byHand);
  const own = withoutUser(now.lists.access, userId, "");
  if (own.length === 0) return null;
  const failed = await changeLists(runProgram, entry, defaultsBack(now.lists.default, null, granted, userId));
  if (failed !== null) return failed;
  if (stat.kind === "directory") {
    if (depth === 0) return { code: "revoke-failed", what: "its folders are too deep", where: path, fix: byHand };
    const problem = await cleanFolder(runProgram, entry, userId, granted, depth - 1);
    if (problem !== null) return problem;
  }
  return changeLists(runProgram, entry, own);
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
    // Before the record goes: a power cut must not bring back a drop-in that no record names.
    await files.syncDirectory(dirname(path));
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return true;
    if (code === undefined) throw error;
    problems.push({ code: "revoke-failed", what: `it cannot be removed (${code})`, where: path, fix: `rm ${path}` });
    return false;
  }
}
