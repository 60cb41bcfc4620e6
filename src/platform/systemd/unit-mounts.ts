/** What settings of a unit (systemd.exec(5)) do to paths, as the mount table of a program in that unit shows. */
import { mountOf, readMounts } from "../files/mounts.ts";

const HOMES: ReadonlySet<string> = new Set(["/home", "/root", "/run/user"]);

/** The setting of this program's unit that hides the path from it; null when none does. */
export function hidingSetting(mountTable: string, path: string): string | null {
  const mount = mountOf(readMounts(mountTable), path);
  if (mount?.root.includes("/systemd-private-") === true) return "PrivateTmp=yes";
  if (mount?.root.startsWith("/systemd/inaccessible/") !== true) return null;
  return HOMES.has(mount.point) ? "ProtectHome=yes" : `InaccessiblePaths=${mount.point}`;
}
