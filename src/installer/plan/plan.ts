import type { FileOwner } from "../../platform/files/files.ts";
import type { Measured } from "../disk/content.ts";
import type { Access } from "../disk/disk.ts";
import {
  MADE_FOLDERS_FILE,
  NOTES_FOLDER,
  PROGRAM_FOLDER,
  shippedCopy,
  UNITS_FOLDER,
  versionFolder,
} from "../layout.ts";
import { type Installed, shippedDigests } from "./installed.ts";
import { ABSENT, type Observation, type Seen } from "./observation.ts";
import type { Step } from "./step.ts";
import type { FileItem, Item } from "./wanted.ts";

/** The observed machine: all inputs of the plan besides the items. */
export interface Machine {
  readonly observation: Observation;
  readonly installed: Installed;
  /** The user that the service runs as; null before it is created. */
  readonly account: FileOwner | null;
}

export interface FilePlan {
  readonly steps: readonly Step[];
  readonly kept: readonly Kept[];
  /** Paths that hold something of another kind than the item. The installation is refused. */
  readonly inTheWay: readonly string[];
}

/** A file that the administrator edited, which is not changed. */
export interface Kept {
  readonly path: string;
  /** This version's copy of the file, to compare. */
  readonly shipped: string | null;
}

/** Plans the steps from the observed state to the wanted items. Pure. */
export function planItems(id: string, items: readonly Item[], machine: Machine): FilePlan {
  const digests = shippedDigests(machine.installed);
  const plans = items.map((item) => planItem(id, item, machine, digests));
  return {
    steps: plans.flatMap(({ steps }) => steps),
    kept: plans.flatMap(({ kept }) => kept),
    inTheWay: plans.flatMap(({ inTheWay }) => inTheWay),
  };
}

/** Plans the removal of unedited files that other versions installed, and this one does not. Pure. */
export function planOutdatedFiles(items: readonly Item[], { observation, installed }: Machine): readonly Step[] {
  const wanted = new Set(items.map(({ path }) => path));
  return [...shippedDigests(installed)]
    .filter(([path]) => !wanted.has(path))
    .filter(([path, digests]) => isOneOf(observation.get(path), digests))
    .map(([path]): Step => ({ kind: "remove", path }));
}

/** Plans the removal of all versions except those to keep: the installed one, and the one before, which is needed to go back. Pure. */
export function planOutdatedVersions(kept: readonly (string | null)[], { versions }: Installed): readonly Step[] {
  return versions.filter(({ id }) => !kept.includes(id)).map(({ id }) => ({ kind: "remove", path: versionFolder(id) }));
}

const OWN_FOLDERS = new RegExp(`^(?:${PROGRAM_FOLDER}|${NOTES_FOLDER})(?:/|$)`);

/** Records the folders that the steps are going to create, for `uninstall`. */
export async function noteFolders(
  steps: readonly Step[],
  { madeFolders }: Installed,
  measureText: (text: string) => Promise<Measured>,
): Promise<readonly Step[]> {
  // The state folder belongs to the service user, and stays after an uninstall.
  const made = steps.flatMap((step) =>
    step.kind === "make-directory" && step.owner === "root" && !OWN_FOLDERS.test(step.path) ? [step.path] : [],
  );
  if (made.every((path) => madeFolders.includes(path))) return [];
  const text = [...new Set([...madeFolders, ...made])].map((path) => `${path}\n`).join("");
  return [writeNote(MADE_FOLDERS_FILE, await measureText(text), madeFolders.length > 0)];
}

export function writeNote(path: string, measured: Measured, replaces: boolean): Step {
  return { kind: "write-file", path, ...measured, mode: 0o600, owner: "root", replaces };
}

/** Whether the service has to restart to use the new version. */
export function changesService(id: string, steps: readonly Step[]): boolean {
  const folder = `${versionFolder(id)}/`;
  return steps.some((step) => step.kind === "write-file" && (step.path.startsWith(folder) || isUnitFile(step.path)));
}

export function changesUnits(steps: readonly Step[]): boolean {
  return steps.some((step) => "path" in step && step.kind !== "make-directory" && isUnitFile(step.path));
}

function isUnitFile(path: string): boolean {
  return path.startsWith(`${UNITS_FOLDER}/`);
}

const NOTHING: FilePlan = { steps: [], kept: [], inTheWay: [] };

function planItem(
  id: string,
  item: Item,
  machine: Machine,
  digests: ReadonlyMap<string, ReadonlySet<string>>,
): FilePlan {
  const seen = machine.observation.get(item.path) ?? ABSENT;
  switch (item.kind) {
    case "directory":
      if (seen.kind === "directory") return NOTHING;
      if (seen.kind !== "absent") return { ...NOTHING, inTheWay: [item.path] };
      return { ...NOTHING, steps: [{ kind: "make-directory", path: item.path, mode: item.mode, owner: item.owner }] };
    case "file":
      return item.keeping === "kept" ? planEditable(id, item, seen, digests) : planOwn(item, seen, machine.account);
    case "link":
      return planLink(item, seen);
  }
}

function planOwn(item: FileItem, seen: Seen, account: FileOwner | null): FilePlan {
  if (seen.kind === "directory" || seen.kind === "other") return { ...NOTHING, inTheWay: [item.path] };
  if (seen.kind !== "file" || seen.sha256 !== item.sha256) return { ...NOTHING, steps: [writing(item, seen)] };
  return hasAccess(seen, item, account) ? NOTHING : { ...NOTHING, steps: [settingAccess(item, seen)] };
}

/** A file that differs from everything shipped for its path belongs to the administrator, even if it was there first. */
function planEditable(
  id: string,
  item: FileItem,
  seen: Seen,
  digests: ReadonlyMap<string, ReadonlySet<string>>,
): FilePlan {
  const { path, sha256 } = item;
  if (seen.kind === "absent" || isOneOf(seen, digests.get(path))) {
    return seen.kind === "file" && seen.sha256 === sha256 ? NOTHING : { ...NOTHING, steps: [writing(item, seen)] };
  }
  if (seen.kind === "file" && seen.sha256 === sha256) return NOTHING;
  return { ...NOTHING, kept: [{ path, shipped: shippedCopy(id, path) }] };
}

function planLink({ path, target, keeping }: Extract<Item, { readonly kind: "link" }>, seen: Seen): FilePlan {
  if (seen.kind === "absent") return { ...NOTHING, steps: [{ kind: "make-link", path, target, was: null }] };
  if (seen.kind === "link" && seen.target === target) return NOTHING;
  if (keeping === "kept") return { ...NOTHING, kept: [{ path, shipped: null }] };
  if (seen.kind !== "link") return { ...NOTHING, inTheWay: [path] };
  return { ...NOTHING, steps: [{ kind: "make-link", path, target, was: seen.target }] };
}

function isOneOf(seen: Seen | undefined, digests: ReadonlySet<string> | undefined): boolean {
  return seen?.kind === "file" && digests?.has(seen.sha256) === true;
}

function writing(item: FileItem, seen: Seen): Step {
  const { path, content, sha256, sizeBytes, mode, owner } = item;
  return { kind: "write-file", path, content, sha256, sizeBytes, mode, owner, replaces: seen.kind !== "absent" };
}

function settingAccess({ path, mode, owner }: FileItem, { mode: wasMode, userId, groupId }: Access): Step {
  return { kind: "set-access", path, mode, owner, was: { mode: wasMode, userId, groupId } };
}

function hasAccess(seen: Access, { mode, owner }: FileItem, account: FileOwner | null): boolean {
  const wanted = owner === "root" ? { userId: 0, groupId: 0 } : account;
  return seen.mode === mode && wanted?.userId === seen.userId && wanted.groupId === seen.groupId;
}
