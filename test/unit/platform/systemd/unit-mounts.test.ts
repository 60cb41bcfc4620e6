import { describe, expect, test } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { hidingSetting } from "../../../../src/platform/systemd/unit-mounts.ts";

/** As in a unit with ProtectSystem=strict, PrivateTmp=yes, ProtectHome=yes, InaccessiblePaths=/srv/x and StateDirectory=agent. */
const TABLE = `366 300 8:1 / / ro,relatime master:1 - ext4 /dev/sda1 rw,errors=remount-ro
367 366 0:25 / /run ro,nosuid master:5 - tmpfs tmpfs rw,mode=755
380 366 0:33 /systemd-private-3b1f-agent.service-Ab12/tmp /tmp rw,nosuid master:9 - tmpfs tmpfs rw
381 366 8:1 /var/tmp/systemd-private-3b1f-agent.service-Cd34/tmp /var/tmp rw,relatime master:1 - ext4 /dev/sda1 rw
382 380 8:1 /srv/calib /tmp/calib ro,relatime master:1 - ext4 /dev/sda1 rw
383 366 0:25 /systemd/inaccessible/dir /home ro,nosuid master:5 - tmpfs tmpfs rw
384 366 0:25 /systemd/inaccessible/dir /srv/x ro,nosuid master:5 - tmpfs tmpfs rw
385 366 8:1 /var/lib/agent /var/lib/agent rw,relatime master:1 - ext4 /dev/sda1 rw
386 366 7:0 / /opt/image ro,relatime master:7 - squashfs /dev/loop0 ro
`;

describe("hidingSetting", () => {
  test.each([
    ["/tmp/x.yaml", "PrivateTmp=yes"],
    ["/var/tmp/a/x.yaml", "PrivateTmp=yes"],
    ["/tmp/calib/x.yaml", null],
    ["/home/tech/x.yaml", "ProtectHome=yes"],
    ["/srv/x/x.yaml", "InaccessiblePaths=/srv/x"],
    ["/srv/xy", null],
    ["/tmpfile", null],
    ["/etc/x.yaml", null],
  ])("%s → %s", (path, setting) => {
    expect(hidingSetting(TABLE, path)).toBe(setting);
  });

  test("no mount table, and the table of this machine → null", () => {
    expect([hidingSetting("", "/tmp/x"), hidingSetting(systemFiles.mountsNow(), "/proc/x")]).toEqual([null, null]);
  });
});
