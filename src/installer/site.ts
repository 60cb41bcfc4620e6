import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";

import { type FolderLock, lockFolder } from "../platform/files/flock.ts";
import { findLockProblem, InstallerError } from "./errors.ts";
import { Changes, type InstallerContext, type InstallerMachine } from "./installer.ts";
import { NAME, WRITTEN_PLACES } from "./layout.ts";
import { readMachineArchitecture } from "./node.ts";
import { System } from "./system.ts";
import { Tree } from "./tree.ts";

/** A tree of files, locked for one command, and what the command works with. */
export interface Site extends AsyncDisposable {
  readonly tree: Tree;
  readonly system: System;
  readonly changes: Changes;
  readonly machine: InstallerMachine;
  readonly isImage: boolean;
}

export interface SiteOptions {
  /** An image, even if it is `/`; undefined for this machine with its running systemd. */
  readonly root?: string;
  readonly dryRun?: boolean;
}

/** sd_booted(3). */
const BOOTED = "/run/systemd/system";
const PACKAGE_FILES = `/var/lib/dpkg/info/${NAME}.list`;
const PACKAGE_FILES_LIMIT_BYTES = 1024 * 1024;

/** Opens and locks the tree that a command changes. @throws `InstallerError` where the command cannot work there, Node system errors. */
export async function openSite(
  { root, dryRun = false }: SiteOptions,
  command: "install" | "uninstall",
  context: InstallerContext,
  machine: InstallerMachine,
): Promise<Site> {
  if (context.userId !== 0)
    throw new InstallerError({
      code: "not-root",
      what: `${command} changes the system`,
      fix: "run it as root: sudo …",
    });
  const isImage = root !== undefined;
  const tree = new Tree(await realpath(isImage ? resolve(root) : machine.root), machine.fs);
  await using opened = new AsyncDisposableStack();
  const lock = opened.use(await lockTree(tree.root));
  const locked = findLockProblem(lock, "install or uninstall", tree.root);
  if (locked !== null) throw new InstallerError(locked);
  await refusePackage(tree);
  if (isImage) await refuseNoImage(tree);
  else if (!(await tree.isFolder(BOOTED)))
    throw new InstallerError({
      code: "no-systemd",
      what: "this machine does not run systemd",
      fix: `within an image that is being built: --root /; under another service manager start: ${NAME} run`,
    });
  await tree.refuseLinksOut(WRITTEN_PLACES);
  const resources = opened.move();
  return {
    tree,
    system: new System(machine.runProgram, tree, isImage),
    changes: new Changes(dryRun, context),
    machine,
    isImage,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The Debian package has the same unit name, so only one of both installations can be the service. */
async function refusePackage(tree: Tree): Promise<void> {
  const list = await tree.readText(PACKAGE_FILES, PACKAGE_FILES_LIMIT_BYTES);
  // After `apt-get remove` without purge the list still exists, but without the program.
  if (list?.split("\n").includes(`/usr/bin/${NAME}`) !== true) return;
  throw new InstallerError({
    code: "package-installed",
    what: "the Debian package is installed, and manages these files",
    where: `/usr/bin/${NAME}`,
    fix: `apt-get remove ${NAME}; with everything that belongs to it: apt-get purge ${NAME}`,
  });
}

async function refuseNoImage(tree: Tree): Promise<void> {
  if ((await readMachineArchitecture(tree)) !== null) return;
  throw new InstallerError({
    code: "no-image",
    what: "this is not the root folder of a Linux system with systemd",
    where: tree.root,
    fix: "name the folder that holds etc, usr and var of the image: --root DIR",
  });
}

/**
 * Locks a tree, so that one command at a time changes it.
 *
 * Locks /root, because only root can open it: another user could hold a lock on `/` and block every installation. An image without /root
 * is locked at its root.
 *
 * @throws Node system errors.
 */
async function lockTree(root: string): Promise<FolderLock> {
  return (await lockFolder(join(root, "root")).catch(() => null)) ?? lockFolder(root);
}
