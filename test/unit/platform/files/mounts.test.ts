import { describe, expect, test } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { readMounts } from "../../../../src/platform/files/mounts.ts";

const TABLE = String.raw`21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
22 21 0:21 / /proc rw shared:5 - proc proc rw
30 21 0:30 /exports /mnt/share rw - nfs4 server:/exports rw
31 30 0:31 / /mnt/share/cache rw master:3 - tmpfs tmpfs rw
32 21 7:0 / /opt/an\040image ro - squashfs /dev/loop0 ro
33 21 0:33 /a.json /etc/robot/a.json rw - fuse.sshfs robot@host rw
34 21 8:2 / /srv/data rw - xfs /dev/sda2 rw
35 34 0:35 / /srv/data rw - cifs //host/data rw
36 21 8:3 / /var/lib/covered rw - ext4 /dev/sda3 rw
37 21 0:37 / /var rw - fuse stacked rw
`;

describe("readMounts: isLocal", () => {
  test.each([
    ["/", true, "the root"],
    ["/etc/robot/b.json", true, "a folder of the root filesystem"],
    ["/proc/version", true, "a filesystem of the kernel"],
    ["/opt/an image/a.json", true, "a disk image, at a path with a space"],
    ["/mnt/share", false, "a network drive"],
    ["/mnt/share/deep/a.json", false, "below a network drive"],
    ["/mnt/share/cache/a.json", false, "local, but reached through a network drive"],
    ["/mnt/shares/a.json", true, "a neighbour with a longer name"],
    ["/etc/robot/a.json", false, "a single mounted file"],
    ["/srv/data/a.json", false, "the upper one of two mounts at one path"],
    ["/var/lib/covered/a.json", false, "a mount covered by another one"],
  ])("%s → %s: %s", (path, expected) => {
    expect(readMounts(TABLE).isLocal(path)).toBe(expected);
  });

  test.each([
    ["an initramfs that stays", "1 1 0:2 / / rw - rootfs rootfs rw", true],
    [
      "a root mounted over the first root",
      "1 1 0:2 / / rw - rootfs rootfs rw\n20 1 8:1 / / rw - ext4 /dev/root rw",
      true,
    ],
    [
      "a network root mounted over the first root",
      "1 1 0:2 / / rw - rootfs rootfs rw\n20 1 0:9 / / rw - nfs server:/ rw",
      false,
    ],
    ["a container's", "900 850 0:57 / / rw - overlay overlay rw", true],
  ])("/etc/robot on %s", (_what, table, expected) => {
    expect(readMounts(table).isLocal("/etc/robot")).toBe(expected);
  });

  test("no mount table → false", () => {
    expect(readMounts("").isLocal("/etc")).toBe(false);
  });

  test("/proc of this machine → true", () => {
    expect(readMounts(systemFiles.mountsNow()).isLocal("/proc")).toBe(true);
  });
});
