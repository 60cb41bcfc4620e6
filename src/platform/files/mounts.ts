import { dirname } from "node:path";

/**
 * Local filesystems, which report every change to inotify. All others (NFS, SMB, FUSE, 9p, autofs …) may change
 * without a report, and a stat of a file there may take for ever.
 */
const LOCAL_TYPES: ReadonlySet<string> = new Set(
  [
    "ext2 ext3 ext4 xfs btrfs f2fs bcachefs zfs jfs reiserfs nilfs2 ubifs jffs2",
    "vfat msdos exfat ntfs3 hfsplus udf iso9660 squashfs erofs cramfs romfs",
    "tmpfs ramfs rootfs devtmpfs overlay aufs proc sysfs",
  ].flatMap((types) => types.split(" ")),
);

interface Mount {
  readonly id: string;
  readonly isLocal: boolean;
}

/** The mount table at the time it was read. */
export interface Mounts {
  /**
   * True when the path is reached only through local filesystems.
   *
   * @param path absolute, without links, `.` and `..`.
   */
  isLocal(path: string): boolean;
  /** True for a mount point that is reached only through local filesystems. */
  isMountPoint(path: string): boolean;
}

/** @param table the text of /proc/self/mountinfo, see proc_pid_mountinfo(5). With an empty one, no path is local. */
export function readMounts(table: string): Mounts {
  const lines = mountLines(table);
  const ids = new Set(lines.map(({ id }) => id));
  /** Keyed by parent mount and mount point. Lookups follow the tree, so that covered mounts are never found. */
  const children = new Map(lines.map((line) => [`${line.parent} ${line.point}`, line]));
  // The root is attached to a mount that this process cannot see, or to itself (a machine that runs from its initramfs).
  const top = lines.find(({ id, parent, point }) => point === "/" && (parent === id || !ids.has(parent)));

  /** The mount visible at this path, starting from `mount`; null when one in between is not local. */
  function descend(mount: Mount, path: string): Mount | null {
    if (!mount.isLocal) return null;
    const child = children.get(`${mount.id} ${path}`);
    return child === undefined || child === mount ? mount : descend(child, path);
  }

  /** Caches results by path, because plans ask for many files in few folders. */
  const mounts = new Map<string, Mount | null>([["/", top === undefined ? null : descend(top, "/")]]);

  function mountAt(path: string): Mount | null {
    const known = mounts.get(path);
    if (known !== undefined) return known;
    const above = mountAt(dirname(path));
    const mount = above === null ? null : descend(above, path);
    mounts.set(path, mount);
    return mount;
  }

  return {
    isLocal: (path) => mountAt(path) !== null,
    isMountPoint: (path) => mountAt(path) !== mountAt(dirname(path)) && mountAt(path) !== null,
  };
}

export interface MountLine extends Mount {
  readonly parent: string;
  /** What of the filesystem is mounted, as a path within it. */
  readonly root: string;
  /** Where. */
  readonly point: string;
  /** Whether this mount may be written; the filesystem itself is `isDiskWritable` or not. */
  readonly isWritable: boolean;
  readonly isDiskWritable: boolean;
}

export function mountLines(table: string): readonly MountLine[] {
  return table
    .split("\n")
    .map(readLine)
    .filter((line) => line !== undefined);
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function readLine(line: string): MountLine | undefined {
  const [before = "", after = ""] = line.split(" - ");
  const [id, parent, , root, point, options] = before.split(" ");
  if (id === undefined || parent === undefined || root === undefined || point === undefined) return undefined;
  const [type = "", , diskOptions] = after.split(" ");
  return {
    id,
    parent,
    root,
    point: unescape(point),
    isLocal: LOCAL_TYPES.has(type),
    isWritable: isWritable(options),
    isDiskWritable: isWritable(diskOptions),
  };
}

function isWritable(options: string | undefined): boolean {
  return options?.split(",").includes("ro") !== true;
}

/** Blanks, line feeds and backslashes are escaped as three octal digits per byte. */
function unescape(point: string): string {
  return point.replaceAll(/\\([0-7]{3})/g, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
