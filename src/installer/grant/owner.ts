/** `--method owner`: drop-ins of the units run the agent as the user that owns the files. Holds however they are written, but is the widest grant. */
import { chown } from "node:fs/promises";
import { dirname } from "node:path";

import { explainAccess, probeAs } from "../../access/access.ts";
import { type Account, accountName, lookUpAccount } from "../../access/account.ts";
import { OpenEntries, type OpenEntry, openPath } from "../../access/open-path.ts";
import { DROP_IN_DIRECTORIES, type FoundUnit, SERVICE_NAME } from "../../access/unit.ts";
import { removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import { type GrantMachine, type GrantRecord, type OwnerGrant, writeGrantRecord } from "./record.ts";

export interface OwnerPlan {
  /** The agent's user with the drop-in. */
  readonly account: Account;
  readonly grant: OwnerGrant;
  readonly notes: readonly string[];
}

const NAME = "50-grant.conf";
const [SERVICE_DIRECTORY = "", ...OTHER_DIRECTORIES] = DROP_IN_DIRECTORIES;
/** That of the service, which the record names for all of them. */
const DROP_IN = `${SERVICE_DIRECTORY}/${NAME}`;

/** With those of the units that look or register without an agent in between. */
function dropInsOf({ drop_in: path }: OwnerGrant): readonly string[] {
  return path === DROP_IN ? [path, ...OTHER_DIRECTORIES.map((folder) => `${folder}/${NAME}`)] : [path];
}

/** @param account the agent's user now. */
export async function planOwner(
  { files, runProgram }: GrantMachine,
  account: Account,
  paths: readonly string[],
  keyFile: string | null,
  record: GrantRecord,
): Promise<OwnerPlan | Problem> {
  const owners = new Set<number>();
  for (const path of paths) {
    const stat = await files.stat(path).catch((error: unknown) => errorCode(error) ?? "unknown error");
    if (typeof stat === "string")
      return refused(`it cannot be read (${stat})`, path, "correct the path in the manifest");
    owners.add(stat.userId);
  }
  // Files of root may be readable for the owner of the others: the kernel is asked below.
  owners.delete(0);
  const [ownerId] = owners;
  const [first = ""] = paths;
  if (ownerId === undefined) return refused("the files belong to root, and the agent must not be root", first);
  if (owners.size > 1)
    return refused(`the files belong to ${owners.size} users, and the agent can run as only one`, first);
  const next = await lookUpAccount(runProgram, String(ownerId));
  if (next === null) return refused(`user ${ownerId} is in no user database`, first);
  const name = accountName(next);
  for (const [path, { kind }] of await explainAccess(probeAs(next, runProgram), paths))
    if (kind !== "readable") return refused(`${name} still could not read it`, path);

  const comment = `# Written by: ${SERVICE_NAME} grant --method owner. Taken back by: ${SERVICE_NAME} grant --revoke`;
  const text = `${comment}\n[Service]\nUser=${name}\n`;
  if (record.owner !== null && record.owner.text !== text)
    return refused("the agent runs as another user by an earlier grant", DROP_IN, "robot-policy-agent grant --revoke");
  const notes = [
    `the agent can then read whatever ${name} can, and ${name} can read the agent's key and state`,
    `systemd gives the state folder to ${name} at the next start`,
  ];
  await using opened = new OpenEntries();
  const own = keyFile === null ? null : await openKey(keyFile, account.userId, opened);
  const given = own === null ? null : { path: own.path, from_user_id: account.userId, to_user_id: ownerId };
  const key = record.owner?.key ?? given;
  if (keyFile !== null && key === null && ownerId !== account.userId)
    notes.push(`${keyFile} keeps its owner; make sure that ${name} can read the key`);
  return { account: next, grant: { drop_in: DROP_IN, text, key }, notes };
}

function refused(what: string, where: string, fix = "another method: --method acl"): Problem {
  return { code: "grant-refused", what, where, fix };
}

/** What the grant changes, in words. */
export function describeOwner(grant: OwnerGrant, account: Account): readonly string[] {
  const setting = grant.text.trimEnd().split("\n").at(-1);
  const dropIns = dropInsOf(grant).map((path) => `${path}: a drop-in of the unit: ${setting}`);
  return grant.key === null ? dropIns : [...dropIns, `${grant.key.path}: given to ${accountName(account)}`];
}

/** The record comes first, as for access lists. @throws Node system errors. */
export async function applyOwner(
  { files }: GrantMachine,
  grant: OwnerGrant,
  record: GrantRecord,
  directory: string,
): Promise<void> {
  await writeGrantRecord(files, directory, { ...record, owner: grant });
  if (grant.key !== null) await changeKeyOwner(grant.key.path, grant.key.from_user_id, grant.key.to_user_id);
  for (const path of dropInsOf(grant)) {
    await files.makeDirectory(dirname(path), 0o755);
    await replaceDurably(files, path, Buffer.from(grant.text), 0o644);
  }
}

/** @returns why it could not be taken back, or null. */
export async function revokeOwner(files: Files, grant: OwnerGrant): Promise<Problem | null> {
  const { drop_in: where, key } = grant;
  try {
    for (const path of dropInsOf(grant)) {
      await removeIfPresent(files, path);
      // Before the record goes: a power cut must not bring back a drop-in that no record names.
      await files.syncDirectory(dirname(path)).catch(ignoreAbsence);
    }
    return key === null ? null : await returnKey(files, key);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return {
      code: "revoke-failed",
      what: `it cannot be removed (${code})`,
      where,
      fix: `rm ${dropInsOf(grant).join(" ")}`,
    };
  }
}

function ignoreAbsence(error: unknown): undefined {
  if (errorCode(error) !== "ENOENT") throw error;
}

async function returnKey(files: Files, key: NonNullable<OwnerGrant["key"]>): Promise<Problem | null> {
  await changeKeyOwner(key.path, key.to_user_id, key.from_user_id);
  const stat = await files.stat(key.path).catch(ignoreAbsence);
  if (stat?.userId !== key.to_user_id) return null;
  const what = "others than root control its folder by now, so it keeps its owner";
  return { code: "revoke-refused", what, where: key.path, fix: `chown ${key.from_user_id} ${shellWord(key.path)}` };
}

/** Changes nothing where the key is not that of `from` any more. @throws Node system errors. */
async function changeKeyOwner(path: string, from: number, to: number): Promise<void> {
  await using opened = new OpenEntries();
  const key = await openKey(path, from, opened);
  if (key !== null) await chown(`/proc/self/fd/${key.descriptor}`, to, key.stat.groupId);
}

const STICKY = 0o1000;
const WRITE_BY_OTHERS = 0o022;

/**
 * The key's file, where it belongs to `owner` and nobody but root controls the folders and links that lead to it: another user could have
 * placed a link to a file of root there, and would become its owner.
 */
async function openKey(path: string, owner: number, opened: OpenEntries): Promise<OpenEntry | null> {
  const { passed, target } = await openPath(path, opened);
  if (target === null || target.stat.kind !== "file" || target.stat.userId !== owner) return null;
  const isRoots = ({ stat: { kind, userId, mode } }: OpenEntry) =>
    userId === 0 && (kind === "link" || (mode & WRITE_BY_OTHERS) === 0 || (mode & STICKY) !== 0);
  return passed.every((entry) => entry === target || isRoots(entry)) ? target : null;
}

const RESTART_LIMIT_MS = 90_000;

/** Reloads the units and restarts the agent. @param consequence of a failure, for the message. @returns the failure, or null. */
export async function restartUnit(
  { runProgram }: GrantMachine,
  unit: FoundUnit,
  consequence: string,
): Promise<Problem | null> {
  if (unit.kind === "no-systemd") return null;
  for (const words of [["daemon-reload"], ["try-restart", `${SERVICE_NAME}.service`]]) {
    const result = await runProgram(["systemctl", ...words], { limitMs: RESTART_LIMIT_MS });
    if (result.kind === "ended" && result.exitCode === 0) continue;
    const fix = `systemctl daemon-reload && systemctl restart ${SERVICE_NAME}`;
    return { code: "restart-failed", what: `systemd did not apply it, ${consequence}`, fix };
  }
  return null;
}
