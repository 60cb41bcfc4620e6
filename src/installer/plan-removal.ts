import type { Account } from "./accounts.ts";
import type { Sight } from "./disk.ts";
import {
  CACHE_FOLDER,
  CONFIGURATION_FOLDER,
  FIRST_BOOT_UNIT,
  PROGRAM_FOLDER,
  RUNTIME_FOLDER,
  SERVICE_UNIT,
  STATE_FOLDER,
  UNITS_FOLDER,
} from "./layout.ts";
import type { Seen } from "./observation.ts";
import type { InstallRecord } from "./record.ts";
import { deepestFirst } from "./remove-outdated.ts";
import type { Removal } from "./removal.ts";
import { dropInFolder } from "./removal.ts";
import type { UnitSeen } from "./system.ts";

export interface RemovalQuestion {
  /** Null where nothing is installed. */
  readonly record: InstallRecord | null;
  /** What lies at the recorded paths, at the paths of `enablingLinks`, and at those of `purgedTrees`. */
  readonly seen: ReadonlyMap<string, Seen | Sight>;
  /** As the service manager has them; null in an image. */
  readonly units: ReadonlyMap<string, UnitSeen> | null;
  /** Links by which a unit of ours may be enabled without the record knowing: `systemctl enable` in a machine made of the image. */
  readonly enabling_links: InstallRecord["links"];
  readonly account: Account | null;
  /** `grant` gave the service user access to files. */
  readonly has_grants: boolean;
  readonly purges: boolean;
}

export interface RemovalPlan {
  readonly removals: readonly Removal[];
  /** Ours once, a person's by now. */
  readonly kept: readonly string[];
}

/** Configuration, key, registration and cache of the robot. */
export const PURGED_TREES = [
  CONFIGURATION_FOLDER,
  STATE_FOLDER,
  CACHE_FOLDER,
  RUNTIME_FOLDER,
  dropInFolder(SERVICE_UNIT),
  dropInFolder(FIRST_BOOT_UNIT),
];

/** What is to be done so that nothing of ours is left, in this order. Pure. */
export function planRemoval(question: RemovalQuestion): RemovalPlan {
  const { record, seen, units, account, purges } = question;
  const isThere = (path: string) => (seen.get(path)?.kind ?? "absent") !== "absent";
  const decided = (record?.files ?? [])
    .filter(({ path }) => isThere(path))
    .map(({ path, sha256 }) => ({ path, sha256, is_ours: isOurs(path, sha256, seen.get(path)) || purges }));
  const kept = decided.filter(({ is_ours }) => !is_ours).map(({ path }) => path);
  const files = decided
    .filter(({ is_ours }) => is_ours)
    .map(({ path, sha256 }): Removal => ({ kind: "file", path, sha256: purges ? null : sha256 }));
  const links = [...(record?.links ?? []), ...question.enabling_links]
    .filter(({ path }, index, all) => all.findIndex((link) => link.path === path) === index)
    .filter(({ path, target }) => isLinkTo(seen.get(path), target))
    .map(({ path, target }): Removal => ({ kind: "link", path, target }));
  const trees = PURGED_TREES.filter(isThere);
  const has_units = files.some((removal) => removal.kind === "file" && removal.path.startsWith(`${UNITS_FOLDER}/`));
  const folders = deepestFirst(record?.directories ?? []).filter(
    (folder) => isThere(folder) && !kept.some((path) => path.startsWith(`${folder}/`)),
  );
  const removals: readonly Removal[] = [
    ...serviceRemovals(units, record !== null),
    // Its record lies with the installer's, and names the user.
    ...(purges && question.has_grants ? [{ kind: "grants" } as const] : []),
    ...links,
    ...files,
    ...folders.map((path): Removal => ({ kind: "directory", path })),
    ...(purges ? trees.map((path): Removal => ({ kind: "tree", path })) : []),
    ...(units !== null && (has_units || (purges && trees.length > 0)) ? [{ kind: "reload-units" } as const] : []),
    ...(purges && account !== null ? [{ kind: "user" } as const] : []),
  ];
  return { removals, kept };
}

/** Nobody but the installer writes into the program's own folder. */
function isOurs(path: string, sha256: string, seen: Seen | Sight | undefined): boolean {
  if (path.startsWith(`${PROGRAM_FOLDER}/`)) return true;
  return seen?.kind === "file" && "sha256" in seen && seen.sha256 === sha256;
}

function isLinkTo(seen: Seen | Sight | undefined, target: string): boolean {
  return seen?.kind === "link" && seen.target === target;
}

/** Without a record the units are somebody else's. */
function serviceRemovals(units: ReadonlyMap<string, UnitSeen> | null, is_installed: boolean): readonly Removal[] {
  if (units === null || !is_installed) return [];
  const running = [...units].filter(([, { active_state }]) => active_state !== "inactive");
  const enabled = [...units].filter(([, { unit_file_state }]) => unit_file_state === "enabled");
  return [
    ...running.map(([unit]): Removal => ({ kind: "stop", unit })),
    ...enabled.map(([unit]): Removal => ({ kind: "disable", unit })),
  ];
}
