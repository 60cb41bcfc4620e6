import { dirname } from "node:path";

import { measure, piecesOf } from "../disk/content.ts";
import { type Access, type Disk, DiskError } from "../disk/disk.ts";
import { replaceFile, replaceLink } from "../disk/durable.ts";
import type { Owner, Step } from "../plan/step.ts";
import { reasonOfError, type System } from "./system.ts";

/** The tree that the steps change, and what they need for it. */
export interface Site {
  readonly disk: Disk;
  /** The files of this machine, which are copied from. */
  readonly host: Disk;
  readonly system: System;
}

/** Whether the agent was started. The installation itself succeeded in each case. */
export type ServiceOutcome =
  | { readonly kind: "untouched" }
  | { readonly kind: "started" | "restarted" }
  | { readonly kind: "configuration-invalid" }
  | { readonly kind: "start-failed"; readonly reason: string };

/** The service was active before, and does not start with this version. */
export class RestartFailed extends Error {
  override readonly name = "RestartFailed";
}

/** SIGINT or SIGTERM. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Applies the steps in order. Each step is atomic, and each run plans from what it finds: the next run completes an interrupted one.
 *
 * @throws DiskError, ProgramFailed, RestartFailed, Interrupted.
 */
export async function applySteps(
  steps: readonly Step[],
  site: Site,
  signal: AbortSignal,
  onStep: (step: Step) => void,
): Promise<ServiceOutcome> {
  let outcome: ServiceOutcome = { kind: "untouched" };
  for (const step of steps) {
    if (signal.aborted) throw new Interrupted();
    outcome = (await applyStep(step, site)) ?? outcome;
    onStep(step);
  }
  return outcome;
}

/** @returns null for a step that does not start the service. */
async function applyStep(step: Step, site: Site): Promise<ServiceOutcome | null> {
  switch (step.kind) {
    case "start":
      return startIfConfigured(step.unit, site.system);
    case "restart":
      return restart(step, site.system);
    default:
      await change(step, site);
      return null;
  }
}

async function change(step: Exclude<Step, { readonly kind: "start" | "restart" }>, site: Site): Promise<void> {
  const { disk, system } = site;
  switch (step.kind) {
    case "make-directory":
      await disk.makeDirectory(step.path, await accessFor(step, site));
      return disk.syncDirectory(dirname(step.path));
    case "write-file":
      return writeFile(step, site);
    case "set-access":
      return disk.setAccess(step.path, await accessFor(step, site));
    case "make-link":
      return replaceLink(disk, step.path, step.target);
    case "remove":
      await disk.removeTree(step.path);
      return disk.syncDirectory(dirname(step.path));
    case "add-user":
      return system.addUser();
    case "reload-units":
      return system.reloadUnits();
    case "enable":
      return system.enable(step.unit);
  }
}

/** Atomic: readers see either the old content or the new. */
async function writeFile(step: Extract<Step, { readonly kind: "write-file" }>, site: Site): Promise<void> {
  const { disk, host } = site;
  const content = piecesOf(step.content, host);
  await replaceFile(disk, step.path, content, await accessFor(step, site), (copy) => checkCopy(step, disk, copy));
}

/** Later runs identify the file by its digest, so a source that changed since it was measured must not be installed. */
async function checkCopy(
  { content, sha256 }: Extract<Step, { readonly kind: "write-file" }>,
  disk: Disk,
  temporary: string,
): Promise<void> {
  if (content.kind !== "copy") return;
  const written = await measure({ kind: "copy", from: temporary }, disk);
  if (written.sha256 !== sha256) throw new DiskError("it changed while it was copied", content.from);
}

async function accessFor(
  { mode, owner }: { readonly mode: number; readonly owner: Owner },
  { system }: Site,
): Promise<Access> {
  if (owner === "root") return { mode, userId: 0, groupId: 0 };
  const account = await system.findOwner();
  if (account === null) throw new DiskError("the service user does not exist", "/etc/passwd");
  return { mode, userId: account.userId, groupId: account.groupId };
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

async function restart(
  { unit, wasWell }: Extract<Step, { readonly kind: "restart" }>,
  system: System,
): Promise<ServiceOutcome> {
  try {
    await system.restart(unit);
    return { kind: "restarted" };
  } catch (error) {
    const reason = reasonOfError(error);
    if (wasWell) throw new RestartFailed(reason, { cause: error });
    return { kind: "start-failed", reason };
  }
}
