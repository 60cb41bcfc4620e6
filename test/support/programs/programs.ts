/** What of the machine a test may count on: other programs, and the rights to use them. Where something is missing, the test is skipped. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

export const isRoot = process.getuid?.() === 0;

export function hasProgram(name: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, name)));
}

/** A user that owns nothing: root reads and writes everything, so a daemon that is to be refused something runs as this one. */
export const NOBODY_ID = 65_534;
export const asNobody = [
  "setpriv",
  `--reuid=${NOBODY_ID}`,
  `--regid=${NOBODY_ID}`,
  "--clear-groups",
  "--no-new-privs",
] as const;

export const canBecomeNobody = isRoot && succeeds([...asNobody, process.execPath, "--version"]);
/** A mount namespace of its own, in which a test may mount what it likes. */
export const withOwnMounts = ["unshare", "--mount"] as const;
export const canMount = isRoot && succeeds([...withOwnMounts, "mount", "-t", "tmpfs", "none", "/mnt"]);
/** A user namespace of its own, in which limits of the kernel can be set without touching the machine. */
export const withOwnLimits = ["unshare", "--user", "--map-root-user"] as const;
export const canLimitInotify = succeeds(
  inShell(withOwnLimits, "echo 10 >/proc/sys/user/max_inotify_watches", ["true"]),
);
/** strace(1) that may look at the programs it starts, from the side (`-D`): they stay children of who starts them. */
export const canTrace = succeeds(["strace", "-D", "-o", "/dev/null", "true"]);
/** A systemd that listens: systemd-notify(1) to talk to it, and Python for a unix datagram socket, which Node has none of. */
export const canListenToNotify = hasProgram("systemd-notify") && succeeds(["python3", "-c", "import socket"]);

/** Words that run a shell script in a namespace and then become the command. */
export function inShell(namespace: readonly string[], script: string, command: readonly string[] = []): string[] {
  return [...namespace, "sh", "-ec", `${script}; exec "$@"`, "sh", ...command];
}

function succeeds([program = "", ...args]: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore", timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}
