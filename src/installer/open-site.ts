import { resolve, join } from "node:path";

import { leadsOut } from "../platform/files/leads-out.ts";
import { errorCode } from "../platform/files/files.ts";
import { type FolderLock, lockFolder } from "../platform/files/flock.ts";
import type { Problem } from "../platform/terminal.ts";
import type { Site } from "./apply/apply.ts";
import { openSystem } from "./apply/system.ts";
import { type Disk, readText } from "./disk/disk.ts";
import { type InstallerContext, type InstallerMachine, type InstallerProblem, refusal } from "./installer.ts";
import { ADMINISTRATOR_UNITS_FOLDER, NAME, SYSUSERS_FILE } from "./layout.ts";
import { findLockProblem } from "./lock-problem.ts";
import { readMachineArchitecture } from "./node-runtime.ts";

/** A tree of files, locked for one command. */
export interface OpenSite extends Site, AsyncDisposable {
  readonly kind: "site";
  /** Why an installation here would fail; only with `--dry-run`, which plans nevertheless. */
  readonly obstacle: Problem | null;
}

/** sd_booted(3). */
const BOOTED = "/run/systemd/system";
const PACKAGE_FILES = `/var/lib/dpkg/info/${NAME}.list`;
const PACKAGE_FILES_LIMIT_BYTES = 1024 * 1024;

/**
 * Opens and locks the tree that a command changes, or says why the command cannot work there.
 *
 * @param root of `--root`: an image, even if it is `/`; undefined for this machine with its running systemd.
 * @param dryRun opens a machine without a running systemd like an image, and reports that as `obstacle`.
 * @param command for messages.
 */
export async function openSite(
  { root, dryRun }: { readonly root?: string; readonly dryRun?: boolean },
  command: "install" | "uninstall",
  { userId }: InstallerContext,
  { openDisk, own, ...machine }: InstallerMachine,
): Promise<OpenSite | InstallerProblem> {
  if (own.platform !== "linux") {
    const what = `robots run Linux, and this is ${own.platform}`;
    return refusal({ code: "not-linux", what, fix: "run it on the robot, or build its image on Linux: --root DIR" });
  }
  if (userId !== 0) {
    return refusal({ code: "not-root", what: `${command} changes the system`, fix: "run it as root: sudo …" });
  }
  await using opened = new AsyncDisposableStack();
  let disk: Disk;
  let host: Disk;
  try {
    host = opened.use(await openDisk("/"));
    disk = opened.use(await openDisk(root === undefined ? machine.root : resolve(root)));
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return refusal({
      code: "no-root",
      what: `the folder of the image cannot be opened (${code})`,
      where: root ?? "/",
      fix: "name the folder in which the image is mounted or unpacked",
    });
  }
  const locked = findLockProblem(opened.use(await lockTree(disk)), "install or uninstall", disk.root);
  if (locked !== null) return refusal(locked);

  const noSystemd = root === undefined ? await findNoSystemd(disk, command) : null;
  const isRehearsal = dryRun === true && command === "install";
  const unfit =
    (await findPackage(disk, command)) ??
    (isRehearsal ? null : noSystemd) ??
    (root === undefined ? null : ((await findNoImage(disk)) ?? (await findWayOut(disk))));
  if (unfit !== null) return unfit;
  const isImage = root !== undefined || noSystemd !== null;
  const system = openSystem(machine, disk, isImage ? disk.root : null);
  const resources = opened.move();
  return {
    kind: "site",
    obstacle: noSystemd?.problem ?? null,
    disk,
    host,
    system,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** The Debian package has the same unit name, so only one of both installations can be the service. */
async function findPackage(disk: Disk, command: "install" | "uninstall"): Promise<InstallerProblem | null> {
  const list = await readText(disk, PACKAGE_FILES, PACKAGE_FILES_LIMIT_BYTES);
  // After `apt-get remove` without purge the list still exists, but without the program.
  if (list === null || list === "too-large" || !list.split("\n").includes(`/usr/bin/${NAME}`)) return null;
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

async function findNoSystemd(disk: Disk, command: "install" | "uninstall"): Promise<InstallerProblem | null> {
  if ((await disk.lookThrough(BOOTED)).kind === "directory") return null;
  const fix = {
    install: `to build an image from within: --root /; under another service manager start: ${NAME} run`,
    uninstall: "from within an image that it was installed into: --root /",
  };
  return refusal({ code: "no-systemd", what: "this machine does not run systemd", fix: fix[command] });
}

async function findNoImage(disk: Disk): Promise<InstallerProblem | null> {
  if ((await readMachineArchitecture(disk)) !== null) return null;
  return refusal({
    code: "no-image",
    what: "this is not the root folder of a Linux system with systemd",
    where: disk.root,
    fix: "name the folder that holds etc, usr and var of the image: --root DIR",
  });
}

/** What systemctl(1), systemd-sysusers(8) and userdel(8) write in an image. They follow its links as links of this machine. */
const WRITTEN_BY_PROGRAMS = [
  ADMINISTRATOR_UNITS_FOLDER,
  `${ADMINISTRATOR_UNITS_FOLDER}/multi-user.target.wants`,
  SYSUSERS_FILE,
  ...["passwd", "shadow", "group", "gshadow"].map((name) => `/etc/${name}`),
];

async function findWayOut({ root }: Disk): Promise<InstallerProblem | null> {
  for (const path of WRITTEN_BY_PROGRAMS) {
    if (!(await leadsOut(root, join(root, path)))) continue;
    return refusal({
      code: "leads-out",
      what: `${path} of the image leads out of it by a link, to what belongs to this machine; nothing was changed`,
      where: join(root, path),
      fix: "replace that link by a relative one, or by a folder; or install from within the image: chroot",
    });
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
async function lockTree({ root }: Pick<Disk, "root">): Promise<FolderLock> {
  return (await lockFolder(join(root, "root")).catch(() => null)) ?? lockFolder(root);
}
