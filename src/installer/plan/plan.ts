import type { Account } from "../accounts.ts";
import type { Measured } from "../disk/content.ts";
import type { Access } from "../disk/disk.ts";
import {
  MADE_FOLDERS_FILE,
  NOTES_FOLDER,
  PROGRAM_FOLDER,
  shippedCopy,
  SWITCHING_FILE,
  UNITS_FOLDER,
  versionFolder,
} from "../layout.ts";
import type { Installed } from "./installed.ts";
import { shippedDigests } from "./installed.ts";
import type { Observation, Seen } from "./observation.ts";
import { ABSENT } from "./observation.ts";
import type { Step } from "./step.ts";
import type { FileItem, Item, Wanted } from "./wanted.ts";

/** What was seen of the machine; all that the plan of the files depends on. */
export interface Machine {
  readonly observation: Observation;
  readonly installed: Installed;
  /** The service user, where there is one. */
  readonly account: Account | null;
}

export interface FilePlan {
  readonly steps: readonly Step[];
  readonly kept: readonly Kept[];
  /** Things of another kind than what belongs there: nothing is installed around them. */
  readonly inTheWay: readonly string[];
}

/** The administrator's, left as it is. */
export interface Kept {
  readonly path: string;
  /** Where the file of this version lies, to compare. */
  readonly shipped: string | null;
}

/** The steps that make the items from what was seen. Pure. */
export function planItems(id: string, items: readonly Item[], machine: Machine): FilePlan {
  const digests = shippedDigests(machine.installed);
  const plans = items.map((item) => planItem(id, item, machine, digests));
  return {
    steps: plans.flatMap(({ steps }) => steps),
    kept: plans.flatMap(({ kept }) => kept),
    inTheWay: plans.flatMap(({ inTheWay }) => inTheWay),
  };
}

/**
 * Removes what earlier versions left: files elsewhere that this version no longer ships, unless they were edited, and all versions but
 * this one and the one before, which is kept to go back to. Pure.
 */
export function planOutdated(
  { id, account, elsewhere }: Wanted,
  previous: string | null,
  { observation, installed }: Machine,
): readonly Step[] {
  const wanted = new Set([...account, ...elsewhere].map(({ path }) => path));
  const files = [...shippedDigests(installed)]
    .filter(([path]) => !wanted.has(path))
    .filter(([path, digests]) => isOneOf(observation.get(path), digests))
    .map(([path]): Step => ({ kind: "remove", path }));
  const versions = installed.versions
    .filter((version) => version.id !== id && version.id !== previous)
    .map((version): Step => ({ kind: "remove", path: versionFolder(version.id) }));
  return [...files, ...versions];
}

const OWN_FOLDERS = new RegExp(`^(?:${PROGRAM_FOLDER}|${NOTES_FOLDER})(?:/|$)`);

/** Notes which folders the steps make, before they do. Pure but for measuring. */
export async function noteFolders(
  steps: readonly Step[],
  { madeFolders }: Installed,
  measureText: (text: string) => Promise<Measured>,
): Promise<readonly Step[]> {
  // The state is the agent's, and outlives the program.
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

/** True where a restarted service would be another one. */
export function changesService(id: string, steps: readonly Step[]): boolean {
  const folder = `${versionFolder(id)}/`;
  return steps.some(
    (step) =>
      step.kind === "write-file" &&
      (step.path === SWITCHING_FILE || step.path.startsWith(folder) || isUnitFile(step.path)),
  );
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

function planOwn(item: FileItem, seen: Seen, account: Account | null): FilePlan {
  if (seen.kind === "directory" || seen.kind === "other") return { ...NOTHING, inTheWay: [item.path] };
  if (seen.kind !== "file" || seen.sha256 !== item.sha256) return { ...NOTHING, steps: [writing(item, seen)] };
  return hasAccess(seen, item, account) ? NOTHING : { ...NOTHING, steps: [settingAccess(item, seen)] };
}

/** What differs from all that was ever shipped there is the administrator's, whoever was first. */
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
  const { path, content, sha256, size_bytes: sizeBytes, mode, owner } = item;
  return {
    kind: "write-file",
    path,
    content,
    sha256,
    size_bytes: sizeBytes,
    mode,
    owner,
    replaces: seen.kind !== "absent",
  };
}

function settingAccess({ path, mode, owner }: FileItem, { mode: wasMode, userId, groupId }: Access): Step {
  return { kind: "set-access", path, mode, owner, was: { mode: wasMode, userId, groupId } };
}

function hasAccess(seen: Access, { mode, owner }: FileItem, account: Account | null): boolean {
  const wanted = owner === "root" ? { user_id: 0, group_id: 0 } : account;
  return seen.mode === mode && wanted?.user_id === seen.userId && wanted.group_id === seen.groupId;
}
