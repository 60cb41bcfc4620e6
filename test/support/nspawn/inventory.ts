import type { Computer } from "./nspawn.ts";
import { PACKAGE } from "./package.ts";

/** Paths that dpkg and the journal write for any package, or that differ between boots. */
const LEFT_OUT = ["/proc", "/sys", "/dev", "/tmp", "/var/tmp", "/var/log", "/var/lib/dpkg"].concat(
  ["systemd", "udev", "log", "dbus"].map((name) => `/run/${name}`),
);

/**
 * Every file of the disk, all users and groups, and any file or process of the package in the excluded paths. For comparison before and
 * after.
 */
export async function inventory(computer: Computer): Promise<readonly string[]> {
  const prune = LEFT_OUT.map((path) => `-path ${path}`).join(" -o ");
  const lines = await computer.ask(
    `find / -ignore_readdir_race \\( ${prune} \\) -prune -o -printf '%M %u %p\\n'
    cut -d: -f1 /etc/passwd /etc/group | sed 's/^/name /'
    find /var/lib/dpkg/info /tmp /var/tmp /run/systemd -ignore_readdir_race -name '*${PACKAGE}*'
    ls -l /proc/*/exe 2>/dev/null | grep -F ${PACKAGE} || true`,
  );
  return lines.split("\n");
}
