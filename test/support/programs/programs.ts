/** Programs and permissions of the machine that tests depend on. Tests are skipped where one is missing. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

export const isRoot = process.getuid?.() === 0;

export function hasProgram(name: string): boolean {
  return (process.env["PATH"] ?? "").split(":").some((folder) => existsSync(join(folder, name)));
}

/** An unprivileged user. Root ignores file permissions, so a daemon that must be denied access runs as this user. */
export const NOBODY_ID = 65_534;
export const asNobody = [
  "setpriv",
  `--reuid=${NOBODY_ID}`,
  `--regid=${NOBODY_ID}`,
  "--clear-groups",
  "--no-new-privs",
] as const;

/** By a shell: setpriv itself may still start a program in a folder that only root can open. */
export const canBecomeNobody = isRoot && succeeds([...asNobody, "sh", "-c", '"$0" --version', process.execPath]);
/** A private mount namespace, in which a test may mount file systems. */
export const withOwnMounts = ["unshare", "--mount"] as const;
export const canMount = isRoot && succeeds([...withOwnMounts, "mount", "-t", "tmpfs", "none", "/mnt"]);
/** A user namespace, in which a test may set kernel limits without affecting the machine. */
export const withOwnLimits = ["unshare", "--user", "--map-root-user"] as const;
export const canLimitInotify = succeeds(
  inShell(withOwnLimits, "echo 10 >/proc/sys/user/max_inotify_watches", ["true"]),
);
/** strace(1) with permission to trace its children. `-D` detaches it, so that they stay children of the caller. */
export const canTrace = succeeds(["strace", "-D", "-o", "/dev/null", "true"]);
/** A listener for systemd notifications: systemd-notify(1) to send them, and Python, because Node has no unix datagram sockets. */
export const canListenToNotify = hasProgram("systemd-notify") && succeeds(["python3", "-c", "import socket"]);

/** Command prefix that runs a shell script in a namespace and then executes the command. */
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
