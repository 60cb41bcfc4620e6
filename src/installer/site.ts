import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { leadsOut } from "../platform/files/leads-out.ts";
import { errorCode } from "../platform/files/files.ts";
import { type FolderLock, lockFolder } from "../platform/files/flock.ts";
import { type InstallerProblem, refusal } from "./errors.ts";
import { Changes, type InstallerContext, type InstallerMachine, type OwnProcess } from "./installer.ts";
import {
  ADMINISTRATOR_UNITS_FOLDER,
  COMMAND_LINK,
  CONFIGURATION_FOLDER,
  NAME,
  PROGRAM_FOLDER,
  STATE_FOLDER,
  UNITS_FOLDER,
} from "./layout.ts";
import { findLockProblem } from "./lock-problem.ts";
import { readMachineArchitecture } from "./node-runtime.ts";
import { System } from "./system.ts";
import { leadsOutError, Tree } from "./tree.ts";

/** A tree of files, locked for one command, and what the command works with. */
export interface Site extends AsyncDisposable {
  readonly kind: "site";
  readonly tree: Tree;
  /** The files of this machine: the same, except for an image. */
  readonly host: Tree;
  readonly system: System;
  readonly changes: Changes;
  readonly own: OwnProcess;
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
/** Checked at once, before any change. Also because systemctl(1), systemd-sysusers(8) and userdel(8) follow an image's links. */
const WRITTEN = [
  PROGRAM_FOLDER,
  UNITS_FOLDER,
  dirname(COMMAND_LINK),
  CONFIGURATION_FOLDER,
  STATE_FOLDER,
  ADMINISTRATOR_UNITS_FOLDER,
  `${ADMINISTRATOR_UNITS_FOLDER}/multi-user.target.wants`,
  ...["passwd", "shadow", "group", "gshadow"].map((name) => `/etc/${name}`),
];

/** Opens and locks the tree that a command changes, or says why the command cannot work there. */
export async function openSite(
  { root, dryRun = false }: SiteOptions,
  command: "install" | "uninstall",
  context: InstallerContext,
  machine: InstallerMachine,
): Promise<Site | InstallerProblem> {
  const { own, fs, runProgram } = machine;
  if (own.platform !== "linux") {
    const what = `robots run Linux, and this is ${own.platform}`;
    return refusal({ code: "not-linux", what, fix: "run it on the robot, or build its image on Linux: --root DIR" });
  }
  if (context.userId !== 0) {
    return refusal({ code: "not-root", what: `${command} changes the system`, fix: "run it as root: sudo …" });
  }
  await using opened = new AsyncDisposableStack();
  const folder = root === undefined ? machine.root : resolve(root);
  let tree: Tree;
  let lock: FolderLock;
  try {
    tree = new Tree(await realpath(folder), fs);
    lock = opened.use(await lockTree(tree));
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return refusal({
      code: "no-root",
      what: `the folder of the image cannot be opened (${code})`,
      where: folder,
      fix: "name the folder in which the image is mounted or unpacked",
    });
  }
  const locked = findLockProblem(lock, "install or uninstall", tree.root);
  if (locked !== null) return refusal(locked);
  const unfit =
    (await findPackage(tree, command)) ??
    (root === undefined ? await findNoSystemd(tree, command) : await findUnfitImage(tree));
  if (unfit !== null) return unfit;
  const resources = opened.move();
  return {
    kind: "site",
    tree,
    host: new Tree("/", fs),
    system: new System(runProgram, tree, root !== undefined),
    changes: new Changes(dryRun, context),
    own,
    isImage: root !== undefined,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The Debian package has the same unit name, so only one of both installations can be the service. */
async function findPackage(tree: Tree, command: "install" | "uninstall"): Promise<InstallerProblem | null> {
  const list = await tree.readText(PACKAGE_FILES, PACKAGE_FILES_LIMIT_BYTES);
  // After `apt-get remove` without purge the list still exists, but without the program.
  if (list?.split("\n").includes(`/usr/bin/${NAME}`) !== true) return null;
  const fix = {
    install: `apt-get install ./${NAME}_<version>_<architecture>.deb brings another version; apt-get remove ${NAME} makes room for this one`,
    uninstall: `apt-get remove ${NAME}; with everything that belongs to it: apt-get purge ${NAME}`,
  };
  return refusal({
    code: "package-installed",
    what: "the Debian package is installed, and manages these files",
    where: `/usr/bin/${NAME}`,
    fix: fix[command],
  });
}

async function findNoSystemd(tree: Tree, command: "install" | "uninstall"): Promise<InstallerProblem | null> {
  if (await tree.isFolder(BOOTED)) return null;
  const fix = {
    install: `to build an image from within: --root /; under another service manager start: ${NAME} run`,
    uninstall: "from within an image that it was installed into: --root /",
  };
  return refusal({ code: "no-systemd", what: "this machine does not run systemd", fix: fix[command] });
}

async function findUnfitImage(tree: Tree): Promise<InstallerProblem | null> {
  if ((await readMachineArchitecture(tree)) === null) {
    return refusal({
      code: "no-image",
      what: "this is not the root folder of a Linux system with systemd",
      where: tree.root,
      fix: "name the folder that holds etc, usr and var of the image: --root DIR",
    });
  }
  for (const path of WRITTEN) {
    const where = join(tree.root, path);
    if (await leadsOut(tree.root, where)) return refusal(leadsOutError(path, where).problem);
  }
  return null;
}

/**
 * Locks a tree, so that one command at a time changes it.
 *
 * Locks /root, because only root can open it: another user could hold a lock on `/` and block every installation. An image without /root
 * is locked at its root.
 *
 * @throws Node system errors.
 */
async function lockTree({ root }: Tree): Promise<FolderLock> {
  return (await lockFolder(join(root, "root")).catch(() => null)) ?? lockFolder(root);
}
