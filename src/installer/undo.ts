import { dirname } from "node:path";

import { digestOf } from "./content.ts";
import type { Disk } from "./disk.ts";
import { removeEmptyDirectory, removeIfPresent, replaceLink, temporaryPath } from "./durable.ts";
import type { Journal, Undo } from "./journal.ts";
import { backupPath, removeJournal } from "./journal.ts";
import type { System } from "./system.ts";
import { reasonOfError } from "./system.ts";

/** What could not be put back, for people. Empty where everything is as it was. */
export type Remains = readonly string[];

/**
 * Takes an installation back, from its last step to its first, or clears up after one that was done. Looks at what is there instead of
 * trusting what should be, so that it may itself be cut short and begun again; what a person changed meanwhile stays.
 *
 * @param system null in an image, where no service runs.
 */
export async function takeBack(journal: Journal, disk: Disk, system: System | null): Promise<Remains> {
  const remains: string[] = [];
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      remains.push(reasonOfError(error));
    }
  };
  if (journal.phase === "done") {
    for (const undo of journal.undo) await attempt(() => dropBackup(undo, disk));
  } else {
    // A unit can be disabled as long as it is there; what it should be is read again once the old one is.
    if (system !== null) await takeServiceOff(journal.undo, system, attempt);
    for (const undo of journal.undo.toReversed()) await attempt(() => undoOnDisk(undo, disk));
    if (system !== null) await putServiceBack(journal.undo, system, attempt);
  }
  // As long as something is left to do, the next run finds the journal.
  if (remains.length === 0) await attempt(() => removeJournal(disk));
  return remains;
}

async function dropBackup(undo: Undo, disk: Disk): Promise<void> {
  if (undo.kind === "file" && undo.replaced) await removeIfPresent(disk, backupPath(undo.path));
}

async function undoOnDisk(undo: Undo, disk: Disk): Promise<void> {
  switch (undo.kind) {
    case "directory":
      await removeEmptyDirectory(disk, undo.path);
      return;
    case "file":
      return undoFile(undo, disk);
    case "access":
      return undoAccess(undo, disk);
    case "link":
      return undoLink(undo, disk);
    case "user":
    case "units":
    case "enabled":
    case "started":
    case "restarted":
      return;
  }
}

async function undoFile(
  { path, sha256, replaced }: Extract<Undo, { readonly kind: "file" }>,
  disk: Disk,
): Promise<void> {
  const folder = dirname(path);
  if ((await disk.lookThrough(folder)).kind !== "directory") return;
  await removeIfPresent(disk, temporaryPath(path));
  const sight = await disk.look(path);
  const is_written = sight.kind === "file" && (await digestOf(disk, path)) === sha256;
  if (replaced) {
    const backup = backupPath(path);
    const has_backup = (await disk.look(backup)).kind !== "absent";
    if (has_backup && (is_written || sight.kind === "absent")) await disk.rename(backup, path);
    // Where both are names of one file, rename(2) leaves both.
    await removeIfPresent(disk, backup);
  } else if (is_written) {
    await disk.remove(path);
  }
  await disk.syncDirectory(folder);
}

async function undoAccess(undo: Extract<Undo, { readonly kind: "access" }>, disk: Disk): Promise<void> {
  const sight = await disk.look(undo.path);
  if (sight.kind !== "absent") await disk.setAccess(undo.path, undo);
}

async function undoLink({ path, target, was }: Extract<Undo, { readonly kind: "link" }>, disk: Disk): Promise<void> {
  const folder = dirname(path);
  if ((await disk.lookThrough(folder)).kind !== "directory") return;
  await removeIfPresent(disk, temporaryPath(path));
  const sight = await disk.look(path);
  if (sight.kind !== "link" || sight.target !== target) return;
  if (was === null) await disk.remove(path);
  else await replaceLink(disk, path, was);
  await disk.syncDirectory(folder);
}

type Attempt = (work: () => Promise<void>) => Promise<void>;

async function takeServiceOff(undos: readonly Undo[], system: System, attempt: Attempt): Promise<void> {
  for (const undo of undos) {
    if (undo.kind !== "started" && undo.kind !== "enabled") continue;
    await attempt(async () => {
      const { load_state } = await system.readUnit(undo.unit);
      if (load_state === "not-found") return;
      await (undo.kind === "started" ? system.stop(undo.unit) : system.disable(undo.unit));
    });
  }
}

async function putServiceBack(undos: readonly Undo[], system: System, attempt: Attempt): Promise<void> {
  if (undos.some(({ kind }) => kind === "units")) await attempt(() => system.reloadUnits());
  if (undos.some(({ kind }) => kind === "user")) await attempt(() => system.removeUser());
  for (const undo of undos) if (undo.kind === "restarted") await attempt(() => system.restart(undo.unit));
}
