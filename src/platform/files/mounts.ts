import { dirname } from "node:path";

/**
 * Filesystems that answer from this machine and report every change to inotify. All others (NFS, SMB, FUSE, 9p, autofs …) may change
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

/** What is mounted where, as the table said when it was read. */
export interface Mounts {
  /**
   * True when the kernel, on its way to this path, meets nothing but filesystems of this machine.
   *
   * @param path absolute, without links, `.` and `..`.
   */
  isLocal(path: string): boolean;
}

/** @param table the text of /proc/self/mountinfo, see proc_pid_mountinfo(5). An empty one proves nothing local. */
export function readMounts(table: string): Mounts {
  const lines = table
    .split("\n")
    .map(readLine)
    .filter((line) => line !== undefined);
  const ids = new Set(lines.map(({ id }) => id));
  /** By the mount that it is attached to and the path there. Of a tree, so that what another mount covers is never met. */
  const children = new Map(lines.map((line) => [`${line.parent} ${line.point}`, line]));
  // Attached to a mount outside of what this process sees, or to itself: the first root of a machine that runs from its initramfs.
  const top = lines.find(({ id, parent, point }) => point === "/" && (parent === id || !ids.has(parent)));

  /** The mount that is seen at this path by who comes from `mount`; null where one on the way is not local. */
  function descend(mount: Mount, path: string): Mount | null {
    if (!mount.isLocal) return null;
    const child = children.get(`${mount.id} ${path}`);
    return child === undefined || child === mount ? mount : descend(child, path);
  }

  /** By path: a plan asks for many files in few folders. */
  const mounts = new Map<string, Mount | null>([["/", top === undefined ? null : descend(top, "/")]]);

  function mountAt(path: string): Mount | null {
    const known = mounts.get(path);
    if (known !== undefined) return known;
    const above = mountAt(dirname(path));
    const mount = above === null ? null : descend(above, path);
    mounts.set(path, mount);
    return mount;
  }

  return { isLocal: (path) => mountAt(path) !== null };
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function readLine(line: string) {
  const [before = "", after = ""] = line.split(" - ");
  const [id, parent, , , point] = before.split(" ");
  if (id === undefined || parent === undefined || point === undefined) return undefined;
  return { id, parent, point: unescape(point), isLocal: LOCAL_TYPES.has(after.split(" ", 1)[0] ?? "") };
}

/** Blanks, line feeds and backslashes stand as three octal digits each, of bytes. */
function unescape(point: string): string {
  return point.replaceAll(/\\([0-7]{3})/g, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
