import { dirname } from "node:path";

import { measure, piecesOf } from "./content.ts";
import type { Access, Disk } from "./disk.ts";
import { DiskError } from "./disk.ts";
import { removeIfPresent, replaceLink, temporaryPath } from "./durable.ts";
import type { Journal } from "./journal.ts";
import { backupPath, undoOf, writeJournal } from "./journal.ts";
import type { Owner, Step } from "./step.ts";
import type { System } from "./system.ts";
import { findUserOf, reasonOfError } from "./system.ts";
import type { Remains } from "./undo.ts";
import { takeBack } from "./undo.ts";

/** Where steps are done. */
export interface Site {
  readonly disk: Disk;
  /** Where copies come from. */
  readonly host: Disk;
  /** Null in an image, where no service runs. */
  readonly system: System | null;
}

export type Applied =
  | { readonly kind: "applied"; readonly service: ServiceOutcome }
  /** Nothing of it is left, but for what `remains` says. */
  | { readonly kind: "taken-back"; readonly reason: string; readonly remains: Remains }
  | { readonly kind: "interrupted"; readonly remains: Remains };

/** What became of starting the agent; the installation stands in any case. */
export type ServiceOutcome =
  | { readonly kind: "untouched" }
  | { readonly kind: "started" | "restarted" }
  | { readonly kind: "configuration-invalid" }
  | { readonly kind: "start-failed"; readonly reason: string };

/**
 * Does all of the steps, or none.
 *
 * The journal is on the disk before the first of them, and says `done` after the last; a process that is killed in between leaves the
 * rest to the next run.
 */
export async function applySteps(
  steps: readonly Step[],
  version: string,
  site: Site,
  signal: AbortSignal,
  onStep: (step: Step) => void,
): Promise<Applied> {
  const { disk, system } = site;
  const journal: Journal = { schema_version: 1, version, phase: "applying", undo: steps.map(undoOf) };
  let service: ServiceOutcome = { kind: "untouched" };
  try {
    await writeJournal(disk, journal);
    for (const step of steps) {
      if (signal.aborted) return { kind: "interrupted", remains: await takeBack(journal, disk, system) };
      service = (await doStep(step, site)) ?? service;
      onStep(step);
    }
    await writeJournal(disk, { ...journal, phase: "done" });
  } catch (error) {
    const reason = reasonOfError(error);
    return { kind: "taken-back", reason, remains: await takeBack(journal, disk, system) };
  }
  // What remains of it are backups, which the next run takes for what they are.
  await takeBack({ ...journal, phase: "done" }, disk, system);
  return { kind: "applied", service };
}

/** @returns what became of the service, where the step is about that. */
async function doStep(step: Step, site: Site): Promise<ServiceOutcome | null> {
  const { disk, system } = site;
  switch (step.kind) {
    case "make-directory":
      await disk.makeDirectory(step.path, await accessFor(step, site));
      await disk.syncDirectory(dirname(step.path));
      return null;
    case "write-file":
      await writeFile(step, site);
      return null;
    case "set-access":
      await disk.setAccess(step.path, await accessFor(step, site));
      return null;
    case "make-link":
      await replaceLink(disk, step.path, step.target);
      return null;
    case "add-user":
      await system?.addUser();
      return null;
    case "reload-units":
      await system?.reloadUnits();
      return null;
    case "enable":
      await system?.enable(step.unit);
      return null;
    case "start":
      return system === null ? null : startIfConfigured(step.unit, system);
    case "restart":
      return system === null ? null : restart(step, system);
  }
}

/** The name points to the old content or to the new, whole; the old one stays under another name until everything is done. */
async function writeFile(step: Extract<Step, { readonly kind: "write-file" }>, site: Site): Promise<void> {
  const { disk, host } = site;
  const temporary = temporaryPath(step.path);
  await removeIfPresent(disk, temporary);
  await disk.create(temporary, piecesOf(step.content, host), await accessFor(step, site));
  await checkCopy(step, site, temporary);
  if (step.replaces) {
    await removeIfPresent(disk, backupPath(step.path));
    await disk.link(step.path, backupPath(step.path));
    await disk.syncDirectory(dirname(step.path));
  }
  await disk.rename(temporary, step.path);
  await disk.syncDirectory(dirname(step.path));
}

/** What is copied may have changed since it was measured, and its digest is what it will be known by. */
async function checkCopy(
  { content, sha256 }: Extract<Step, { readonly kind: "write-file" }>,
  { disk }: Site,
  temporary: string,
): Promise<void> {
  if (content.kind !== "copy") return;
  const written = await measure({ kind: "copy", from: temporary }, disk);
  if (written.sha256 !== sha256) throw new DiskError("changed while it was copied", content.from);
}

async function accessFor(
  { mode, owner }: { readonly mode: number; readonly owner: Owner },
  { disk, system }: Site,
): Promise<Access> {
  if (owner === "root") return { mode, user_id: 0, group_id: 0 };
  if (owner !== "service") return { mode, ...owner };
  const account = system === null ? await findUserOf(disk) : await system.findUser();
  if (account === null) throw new DiskError("its owner, the service user, is not there", "/etc/passwd");
  return { mode, user_id: account.user_id, group_id: account.group_id };
}

async function startIfConfigured(unit: string, system: System): Promise<ServiceOutcome> {
  if (!(await system.isConfigurationValid())) return { kind: "configuration-invalid" };
  try {
    await system.start(unit);
    return { kind: "started" };
  } catch (error) {
    return { kind: "start-failed", reason: reasonOfError(error) };
  }
}

/** A version under which a service does not come up that came up before is taken back: the robot comes first. */
async function restart(
  { unit, was_well }: Extract<Step, { readonly kind: "restart" }>,
  system: System,
): Promise<ServiceOutcome> {
  try {
    await system.restart(unit);
    return { kind: "restarted" };
  } catch (error) {
    if (was_well) throw error;
    return { kind: "start-failed", reason: reasonOfError(error) };
  }
}
