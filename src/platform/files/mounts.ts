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

export interface Mount {
  /** What of the filesystem is mounted, as a path within it. */
  readonly root: string;
  /** Where. */
  readonly point: string;
  readonly isLocal: boolean;
}

/** @param table the text of /proc/self/mountinfo, see proc_pid_mountinfo(5). */
export function readMounts(table: string): readonly Mount[] {
  return table
    .split("\n")
    .map(readLine)
    .filter((mount) => mount !== undefined);
}

/**
 * The mount that a path is on: of those with the longest point, the last, which covers the others. undefined without a mount table.
 *
 * @param path absolute, without links, `.` and `..`.
 */
export function mountOf(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts
    .filter(({ point }) => point === "/" || `${path}/`.startsWith(`${point}/`))
    .toSorted((one, other) => one.point.length - other.point.length)
    .at(-1);
}

/** `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue` */
function readLine(line: string): Mount | undefined {
  const [before = "", after = ""] = line.split(" - ");
  const [, , , root, point] = before.split(" ");
  if (root === undefined || point === undefined) return undefined;
  const [type = ""] = after.split(" ");
  return { root, point: unescape(point), isLocal: LOCAL_TYPES.has(type) };
}

/** Blanks, line feeds and backslashes are escaped as three octal digits per byte. */
function unescape(point: string): string {
  return point.replaceAll(/\\([0-7]{3})/g, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
