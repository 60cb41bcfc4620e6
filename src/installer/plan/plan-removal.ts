import type { FileOwner } from "../../platform/files/files.ts";
import { dropInFolder, type Removal } from "../apply/removal.ts";
import type { System, UnitSeen } from "../apply/system.ts";
import { isTemporary, temporaryPath } from "../disk/durable.ts";
import {
  CACHE_FOLDER,
  COMMAND_LINK,
  COMMAND_TARGET,
  CONFIGURATION_FOLDER,
  EDITABLE_FILES,
  FIRST_BOOT_UNIT,
  KEY_FILE,
  MADE_FOLDERS_FILE,
  NOTES_FOLDER,
  PROGRAM_FOLDER,
  RUNTIME_FOLDER,
  SERVICE_UNIT,
  STATE_FOLDER,
  SWITCHING_FILE,
} from "../layout.ts";
import { type Installed, shippedDigests } from "./installed.ts";
import { ABSENT, type Observation } from "./observation.ts";

export interface RemovalQuestion {
  readonly installed: Installed;
  /** What is at `removablePaths`. */
  readonly seen: Observation;
  readonly system: Pick<System, "isRunning">;
  readonly units: ReadonlyMap<string, UnitSeen>;
  readonly account: FileOwner | null;
  /** `grant` gave the service user access to files. */
  readonly hasGrants: boolean;
  readonly purges: boolean;
}

export interface RemovalPlan {
  readonly removals: readonly Removal[];
  /** Installed files that the administrator has edited. */
  readonly kept: readonly string[];
  /** Folders that were links, which are removed, and what they lead to, which is left. */
  readonly linked: readonly { readonly path: string; readonly target: string }[];
  /** The folders of those files that the installer created, for a later `--purge`. */
  readonly remembered: readonly string[];
}

/** Configuration, key and registration of the robot, which only `--purge` removes. */
export const PURGED_TREES = [
  CONFIGURATION_FOLDER,
  STATE_FOLDER,
  RUNTIME_FOLDER,
  dropInFolder(SERVICE_UNIT),
  dropInFolder(FIRST_BOOT_UNIT),
];

/** All paths that a removal may change. */
export function removablePaths(installed: Installed): readonly string[] {
  const files = [
    COMMAND_LINK,
    MADE_FOLDERS_FILE,
    SWITCHING_FILE,
    KEY_FILE,
    ...shippedDigests(installed).keys(),
    ...EDITABLE_FILES,
  ];
  const folders = [PROGRAM_FOLDER, NOTES_FOLDER, CACHE_FOLDER, ...installed.madeFolders, ...PURGED_TREES];
  return [...new Set([...files, ...files.map(temporaryPath), ...folders])];
}

/**
 * Plans the removal of the installation. The order lets the next `uninstall` complete an interrupted one. Pure.
 */
export function planRemoval({ installed, seen, units, ...question }: RemovalQuestion): RemovalPlan {
  const { system, account, hasGrants, purges } = question;
  const at = (path: string) => seen.get(path) ?? ABSENT;
  const isThere = (path: string) => at(path).kind !== "absent";
  const digests = shippedDigests(installed);
  const edited = (path: string) => {
    const sight = at(path);
    return sight.kind !== "file" || digests.get(path)?.has(sight.sha256) !== true;
  };
  // For files that an earlier `uninstall` kept there are no digests any more, only their paths.
  const places = installed.madeFolders.length > 0 ? EDITABLE_FILES : [];
  const shipped = [...new Set([...digests.keys(), ...places])].filter(isThere);
  const kept = purges ? [] : shipped.filter(edited);
  const files = shipped.filter((path) => !kept.includes(path));
  const link = at(COMMAND_LINK);
  const holdsKept = (folder: string) => kept.some((path) => path.startsWith(`${folder}/`));
  const folders = installed.madeFolders
    .toSorted((a, b) => b.length - a.length)
    .filter((folder) => isThere(folder) && !holdsKept(folder));
  const trees = [CACHE_FOLDER, ...(purges ? PURGED_TREES : [])].filter(isThere);
  const isInstalled = isThere(PROGRAM_FOLDER);
  const linked = [...trees, PROGRAM_FOLDER].flatMap((path) => {
    const sight = at(path);
    return sight.kind === "link" ? [{ path, target: sight.target }] : [];
  });
  const removing = (path: string): Removal => ({ kind: at(path).kind === "link" ? "link" : "tree", path });
  const halfWritten = [...seen.keys()].filter((path) => isTemporary(path) && isThere(path));
  const notes = [SWITCHING_FILE, ...(kept.length > 0 ? [] : [MADE_FOLDERS_FILE])].filter(isThere);
  const removals: readonly Removal[] = [
    ...planUnits(units, isInstalled),
    // Before the installer's notes and the user, because its record is one of the notes and names the user.
    ...(purges && hasGrants ? [{ kind: "grants" } as const] : []),
    ...(link.kind === "link" && link.target === COMMAND_TARGET ? [{ kind: "link", path: COMMAND_LINK } as const] : []),
    ...[...files, ...halfWritten].map((path): Removal => ({ kind: "file", path })),
    ...trees.map(removing),
    // Before the program's folder, which tells a repeat that it has to reload.
    ...(system.isRunning && (isInstalled || files.length > 0 || trees.length > 0)
      ? [{ kind: "reload-units" } as const]
      : []),
    ...(isInstalled ? [removing(PROGRAM_FOLDER)] : []),
    ...folders.filter((path) => path !== PROGRAM_FOLDER).map((path): Removal => ({ kind: "directory", path })),
    ...(purges && account !== null ? [{ kind: "user" } as const] : []),
    ...notes.map((path): Removal => ({ kind: "file", path })),
    ...(kept.length === 0 && isThere(NOTES_FOLDER) ? [{ kind: "directory", path: NOTES_FOLDER } as const] : []),
  ];
  return { removals, kept, linked, remembered: installed.madeFolders.filter(holdsKept) };
}

/** When nothing is installed, units of these names belong to something else. */
function planUnits(units: ReadonlyMap<string, UnitSeen>, isInstalled: boolean): readonly Removal[] {
  if (!isInstalled) return [];
  const running = [...units].filter(([, { activeState }]) => activeState !== "inactive");
  const enabled = [...units].filter(([, { unitFileState }]) => unitFileState === "enabled");
  return [
    ...running.map(([unit, { activeState }]): Removal => ({
      kind: activeState === "failed" ? "reset-failed" : "stop",
      unit,
    })),
    ...enabled.map(([unit]): Removal => ({ kind: "disable", unit })),
  ];
}
