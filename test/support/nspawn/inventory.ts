import type { Computer } from "./nspawn.ts";
import { PACKAGE } from "./package.ts";

/** What dpkg and the journal write about everything, and what differs from boot to boot. */
const LEFT_OUT = ["/proc", "/sys", "/dev", "/tmp", "/var/tmp", "/var/log", "/var/lib/dpkg"].concat(
  ["systemd", "udev", "log", "dbus"].map((name) => `/run/${name}`),
);

/** Every file of the disk, who is known, and what of ours runs or lies in the places that are left out: to compare before and after. */
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
