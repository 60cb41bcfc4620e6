import { expect, test } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { mountOf, readMounts } from "../../../../src/platform/files/mounts.ts";

/** The root stands below what an initial ramdisk mounted before it. */
const TABLE = String.raw`20 21 0:30 /exports /mnt/share rw - nfs4 server:/exports rw
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw
22 21 0:21 / /proc rw shared:5 - proc proc rw
32 21 7:0 / /opt/an\040image ro - squashfs /dev/loop0 ro
33 21 0:33 /a.json /etc/robot/a.json rw - fuse.sshfs robot@host rw
34 21 8:2 / /srv/data rw - xfs /dev/sda2 rw
35 34 0:35 / /srv/data rw - cifs //host/data rw
`;

test.each([
  ["/", true, "the root"],
  ["/etc/robot/b.json", true, "a folder of the root filesystem"],
  ["/proc/version", true, "a filesystem of the kernel"],
  ["/opt/an image/a.json", true, "a disk image, at a path with a space"],
  ["/mnt/share", false, "a network drive"],
  ["/mnt/share/deep/a.json", false, "below a network drive"],
  ["/mnt/shares/a.json", true, "a neighbour with a longer name"],
  ["/etc/robot/a.json", false, "a single mounted file"],
  ["/srv/data/a.json", false, "the upper one of two mounts at one path"],
])("mountOf: %s is local → %s: %s", (path, expected) => {
  expect(mountOf(readMounts(TABLE), path)?.isLocal).toBe(expected);
});

test("mountOf: no mount table → undefined; /proc of this machine → local", () => {
  expect(mountOf(readMounts(""), "/etc")).toBeUndefined();
  expect(mountOf(readMounts(systemFiles.mountsNow()), "/proc")?.isLocal).toBe(true);
});
