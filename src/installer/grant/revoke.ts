import { chownSync, readdirSync } from "node:fs";

import { readGroups, readUsers } from "../../access/account.ts";
import { readBounded, removeIfPresent } from "../../platform/files/durable-file.ts";
import { type EntryHandle, openBelow } from "../../platform/files/entry-handle.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type AccessList, type EntryLists, listEntries, parseLists, permissionsText, sameLists } from "./acl.ts";
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
  const read = await readLists(machine.runProgram, [handle]);
  const before = parseLists(granted.before);
  const after = parseLists(granted.after);
  const now = read.kind === "lists" ? read.of.get(path)?.lists : undefined;
  if (now === undefined || before === null || after === null)
    return { code: "revoke-failed", what: "its access list cannot be read", where: path, fix: byHand };
  for (const words of changesBack(now, before, after, userId)) {
    const problem = await changeLists(machine.runProgram, handle, words);
    if (problem !== null) return { ...problem, fix: byHand };
  }
  if (before.default === null && after.default !== null) await cleanFolder(machine, handle, userId);
  return null;
}

/** Arguments of the setfacl calls that revoke a grant. Each call may have nothing to do. */
function changesBack(
  now: EntryLists,
  before: EntryLists,
  after: EntryLists,
  userId: number,
): readonly (readonly string[])[] {
  return [
    ...(sameLists(now.access, after.access)
      ? [["--no-mask", `--set=${listEntries(before.access).join(",")}`]]
      : withoutUser(now.access, userId, "")),
    ...defaultsBack(now, before, after, userId),
  ];
}

function defaultsBack(now: EntryLists, before: EntryLists, after: EntryLists, userId: number) {
  if (now.default === null) return [];
  if (!sameLists(now.default, after.default)) return withoutUser(now.default, userId, "d:");
  if (before.default === null) return [["--remove-default"]];
  return [
    ["--remove-default"],
    [
      "--no-mask",
      `--modify=${listEntries(before.default)
        .map((each) => `d:${each}`)
        .join(",")}`,
    ],
  ];
}

function withoutUser(list: AccessList, userId: number, prefix: "" | "d:"): readonly string[][] {
  const { named, group, mask } = list;
  if (!named.has(`u:${userId}`)) return [];
  const removed = [["--no-mask", `--remove=${prefix}u:${userId}`]];
  if (named.size > 1 || mask === null) return removed;
  // The last named entry is gone, so the mask goes too. Its limit on the group moves into the group's entry.
  const kept = `--modify=${prefix}g::${permissionsText(group & mask)}`;
  return [...removed, ["--no-mask", kept], ["--no-mask", `--remove=${prefix}m`]];
}

const FOLDER_LIMIT = 4096;

/** Entries created since the grant inherited the agent's entry from the default list. */
async function cleanFolder(machine: GrantMachine, folder: EntryHandle, userId: number): Promise<void> {
  const names = readdirSync(`/proc/self/fd/${folder.descriptor}`).slice(0, FOLDER_LIMIT);
  for (const name of names) {
    try {
      using entry = openBelow(folder, name);
      if (entry.stat.kind === "link" || entry.stat.userId !== folder.stat.userId) continue;
      const read = await readLists(machine.runProgram, [entry]);
      const lists = read.kind === "lists" ? read.of.get(entry.path)?.lists : undefined;
      for (const words of lists === undefined ? [] : withoutUser(lists.access, userId, "")) {
        await changeLists(machine.runProgram, entry, words);
      }
    } catch (error) {
      // Removed meanwhile.
      if (errorCode(error) === undefined) throw error;
    }
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
