/** Takes everything back that was granted. */
import { readdir } from "node:fs/promises";

import { OpenEntries, openEntry, type OpenEntry, openPath } from "../../access/open-path.ts";
import { errorCode } from "../../platform/files/files.ts";
import type { RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { changeAcl, NOTHING, readAcls, revokeDefaultWords, revokeWords } from "./acl.ts";
import { revokeOwner } from "./owner.ts";
import { type GrantedEntry, type GrantMachine, type GrantRecord, writeGrantRecord } from "./record.ts";

/**
 * Takes back everything in the record. What could not be taken back stays there. The agent's entry goes from whatever lies at a path by now,
 * since that can harm nobody, but links are not followed.
 *
 * @returns the paths without any grant now. @throws Node system errors of the record.
 */
export async function revokeGrant(
  machine: GrantMachine,
  record: GrantRecord,
  directory: string,
): Promise<{ readonly revoked: readonly string[]; readonly problems: readonly Problem[] }> {
  const revoked: string[] = [];
  const problems: Problem[] = [];
  const left: GrantedEntry[] = [];
  for (const entry of record.entries.toReversed()) {
    const problem = await revokeEntry(machine.runProgram, entry);
    if (problem === null) revoked.push(entry.path);
    else problems.push(problem);
    if (problem !== null && problem.code !== REPLACED) left.unshift(entry);
  }
  let { owner } = record;
  if (owner !== null) {
    const problem = await revokeOwner(machine.files, owner);
    if (problem === null) revoked.push(owner.drop_in);
    else problems.push(problem);
    if (problem === null) owner = null;
  }
  await writeGrantRecord(machine.files, directory, { ...record, entries: left, owner });
  return { revoked, problems };
}

/** The code of a path that leads elsewhere by now. It is reported once: what was granted is out of reach. */
const REPLACED = "revoke-replaced";

async function revokeEntry(runProgram: RunProgram, granted: GrantedEntry): Promise<Problem | null> {
  await using opened = new OpenEntries();
  const { target, code } = await openPath(granted.path, opened);
  if (target?.path === granted.path) return await revokeOn(runProgram, target, granted, DEPTH_LIMIT);
  if (target === null && (code === "ENOENT" || code === "ENOTDIR")) return null;
  const fix = `if it lies elsewhere now: ${removingByHand("PATH", granted.user_id)}`;
  if (target !== null) return { code: REPLACED, what: "a link is in its place now", where: granted.path, fix };
  return { code: "revoke-failed", what: `root cannot read it (${code})`, where: granted.path, fix };
}

/** Each level needs an open descriptor. */
const DEPTH_LIMIT = 64;

/**
 * Takes the user's entry off the access lists, and off everything that inherited it from the default list. The entry's own goes last: it tells a
 * repeat that something below it is left.
 *
 * @returns the problem that stopped it, or null.
 */
async function revokeOn(
  runProgram: RunProgram,
  entry: OpenEntry,
  granted: GrantedEntry,
  depth: number,
): Promise<Problem | null> {
  const { user_id: userId, new_files: newFiles, right_before: before } = granted;
  const fix = `${removingByHand(shellWord(entry.path), userId)}; then run grant --revoke again`;
  const acls = await readAcls(runProgram, [entry]);
  if ("code" in acls) return { ...acls, fix: acls.code === "acl-missing" ? "install the package acl" : fix };
  const acl = acls.get(entry) ?? [];
  const words = revokeWords(acl, userId, before);
  const isBelowDefault = newFiles !== "none" && entry.stat.kind === "directory";
  // Nothing below a folder that inherited nothing.
  if (entry.path !== granted.path && words.length === 0) return null;
  const defaultWords = isBelowDefault ? revokeDefaultWords(acl, userId, newFiles) : [];
  const failed = await changeAcl(runProgram, entry, defaultWords);
  if (failed !== null) return { ...failed, fix };
  if (isBelowDefault) {
    if (depth === 0) return { code: "revoke-failed", what: "its folders are too deep", where: entry.path, fix };
    for (const name of await readdir(`/proc/self/fd/${entry.descriptor}`)) {
      await using below = await openIfPresent(entry, name);
      if (below === null || below.stat.kind === "link" || below.stat.device !== entry.stat.device) continue;
      const problem = await revokeOn(runProgram, below, { ...granted, right_before: NOTHING }, depth - 1);
      if (problem !== null) return problem;
    }
  }
  const last = await changeAcl(runProgram, entry, words);
  return last === null ? null : { ...last, fix };
}

/** With `-n`, because setfacl would widen the mask by what it hides. @param path as a word of the shell. */
function removingByHand(path: string, userId: number): string {
  return `setfacl -R -n -x u:${userId},d:u:${userId} ${path}`;
}

/** @returns null for an entry that was removed meanwhile. */
async function openIfPresent(folder: OpenEntry, name: string): Promise<(OpenEntry & AsyncDisposable) | null> {
  try {
    return await openEntry(folder, name);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return null;
  }
}
