import { createHash } from "node:crypto";
import { dirname } from "node:path";

import type { Measured } from "../disk/content.ts";
import { type Distribution, SHARED } from "../distribution.ts";
import {
  COMMAND_LINK,
  COMMAND_TARGET,
  COMPLETION_FILES,
  CONFIGURATION_FOLDER,
  CURRENT_LINK,
  FIRST_BOOT_UNIT,
  GROWING_DELAY_FILE,
  KEY_FILE,
  NAME,
  NOTES_FOLDER,
  PROGRAM,
  SERVICE_UNIT,
  shippedCopy,
  STATE_FOLDER,
  SYSUSERS_FILE,
  UNITS_FOLDER,
  versionFolder,
} from "../layout.ts";
import type { NodeRuntime } from "../node-runtime.ts";
import type { Owner } from "./step.ts";

/** A folder, file or link that the installation consists of. */
export type Item =
  /** An existing folder keeps its mode and owner. */
  | { readonly kind: "directory"; readonly path: string; readonly mode: number; readonly owner: Owner }
  | FileItem
  | { readonly kind: "link"; readonly path: string; readonly target: string; readonly keeping: Keeping };

export interface FileItem extends Measured {
  readonly kind: "file";
  readonly path: string;
  readonly mode: number;
  readonly owner: Owner;
  readonly keeping: Keeping;
}

/** What happens to other content at that path: it is replaced, or kept because it belongs to the administrator. */
export type Keeping = "replaced" | "kept";

export interface Wanted {
  /** Name of the version's folder: the version, and a digest of everything that it ships. */
  readonly id: string;
  /** The folder for the installer's records. All lists are in the order of creation. */
  readonly notes: readonly Item[];
  /** The version's own folder, which nothing uses before the switch. */
  readonly version: readonly Item[];
  /** The sysusers.d(5) file of the service user. */
  readonly account: readonly Item[];
  /** Everything else except the link `current`. */
  readonly elsewhere: readonly Item[];
  /** Path of the copied Node; null where the machine's own is used. */
  readonly node: string | null;
}

export interface Wishes {
  readonly version: string;
  readonly distribution: Distribution;
  readonly node: NodeRuntime;
  /** Null keeps the installed key. */
  readonly key: Measured | null;
  readonly completions: ReadonlyMap<keyof typeof COMPLETION_FILES, Measured>;
  /** Units with the program's installed path. */
  readonly units: Readonly<Record<"service" | "firstBoot", Measured>>;
  /** Of the machine's systemd; null where it is not found, which counts as old. */
  readonly systemdVersion: number | null;
}

/** RestartSteps= needs systemd 254. Older versions log a warning at each reload. */
const GROWING_DELAY_VERSION = 254;

const PROGRAM_MODE = 0o755;
const FILE_MODE = 0o644;
const KEY_MODE = 0o600;
const FOLDER_MODE = 0o755;
const STATE_MODE = 0o750;
const NOTES_MODE = 0o700;
const ID_DIGITS = 12;

/** All items of an installation. */
export async function wantItems(wishes: Wishes, measureText: (text: string) => Promise<Measured>): Promise<Wanted> {
  const { distribution, node } = wishes;
  const shipped = shippedFiles(wishes);
  const id = `${wishes.version}-${digestOfVersion(distribution, node, shipped)}`;
  const folder = versionFolder(id);
  const nodeCopy = node.kind === "copy" ? `${folder}/node` : null;
  const nodePath = node.kind === "system" ? node.path : `${folder}/node`;
  // Without the flag, SIGUSR1 opens Node's inspector to every local user.
  const launcher = await measureText(`#!${nodePath} --disable-sigusr1\n${distribution.launcher}`);
  const version: readonly Item[] = [
    ...[...distribution.files].map(([name, measured]) => ours(`${folder}/${name}`, measured, FILE_MODE)),
    ...(node.kind === "copy" ? [ours(`${folder}/node`, node.measured, PROGRAM_MODE)] : []),
    ours(`${folder}/${NAME}`, launcher, PROGRAM_MODE),
    ...[...shipped].map(([path, measured]) => ours(shippedCopy(id, path), measured, FILE_MODE)),
  ];
  const account = [...shipped].filter(([path]) => path === SYSUSERS_FILE).map(editable);
  const elsewhere: readonly Item[] = [
    ...[...shipped].filter(([path]) => path !== SYSUSERS_FILE).map(editable),
    ...(wishes.key === null ? [] : [keyFile(wishes.key)]),
    // Not left to StateDirectory=: --setup may run before the first start of the service.
    { kind: "directory", path: STATE_FOLDER, mode: STATE_MODE, owner: "service" },
    { kind: "link", path: COMMAND_LINK, target: COMMAND_TARGET, keeping: "kept" },
  ];
  const known = new Set(["/"]);
  const notes: Item = { kind: "directory", path: NOTES_FOLDER, mode: NOTES_MODE, owner: "root" };
  return {
    id,
    notes: withFolders([notes], known),
    version: withFolders(version, known),
    account: withFolders(account, known),
    elsewhere: withFolders(elsewhere, known),
    node: nodeCopy,
  };
}

export function currentLink(id: string): Item {
  return { kind: "link", path: CURRENT_LINK, target: `versions/${id}`, keeping: "replaced" };
}

/** A file that the administrator may edit. */
export function editable([path, measured]: readonly [path: string, measured: Measured]): FileItem {
  return { kind: "file", path, ...measured, mode: FILE_MODE, owner: "root", keeping: "kept" };
}

/** The shipped unit with the program's installed path, and without Documentation=: only packages install the man pages. */
export function unitText(shipped: string): string {
  return shipped.replaceAll(`/usr/bin/${NAME}`, PROGRAM).replace(/^Documentation=man:.*\n/m, "");
}

/** Files that are installed outside the program's folder, by path. */
function shippedFiles({ distribution, units, completions, systemdVersion }: Wishes): ReadonlyMap<string, Measured> {
  const shared = (name: string) => requireShipped(distribution, name);
  return new Map<string, Measured>([
    [SYSUSERS_FILE, shared(SHARED.sysusers)],
    [`${CONFIGURATION_FOLDER}/config.example.yaml`, shared(SHARED.configuration)],
    [`${CONFIGURATION_FOLDER}/robot-manifest.example.yaml`, shared(SHARED.manifest)],
    [`${UNITS_FOLDER}/${SERVICE_UNIT}`, units.service],
    [`${UNITS_FOLDER}/${FIRST_BOOT_UNIT}`, units.firstBoot],
    ...((systemdVersion ?? 0) >= GROWING_DELAY_VERSION
      ? [[GROWING_DELAY_FILE, shared(SHARED.growingDelay)] as const]
      : []),
    ...[...completions].map(([shell, measured]) => [COMPLETION_FILES[shell], measured] as const),
  ]);
}

function digestOfVersion(
  { files, launcher }: Distribution,
  node: NodeRuntime,
  shipped: ReadonlyMap<string, Measured>,
): string {
  const hash = createHash("sha256");
  for (const [name, { sha256 }] of [...files, ...shipped].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${name} ${sha256}\n`);
  }
  hash.update(`${node.kind} ${node.kind === "system" ? node.path : node.measured.sha256}\n${launcher}`);
  return hash.digest("hex").slice(0, ID_DIGITS);
}

function requireShipped({ files }: Distribution, name: string): Measured {
  const measured = files.get(name);
  if (measured === undefined) throw new Error(`Cannot install ${name}: it is not part of the distribution`);
  return measured;
}

function ours(path: string, measured: Measured, mode: number): FileItem {
  return { kind: "file", path, ...measured, mode, owner: "root", keeping: "replaced" };
}

/** Belongs to the service user, because the service itself watches the file: a new key is used at once. */
function keyFile(key: Measured): FileItem {
  return { kind: "file", path: KEY_FILE, ...key, mode: KEY_MODE, owner: "service", keeping: "replaced" };
}

/** Inserts each missing parent folder before its first entry. */
function withFolders(leaves: readonly Item[], known: Set<string>): readonly Item[] {
  const foldersOf = (path: string): readonly Item[] => {
    if (known.has(path)) return [];
    known.add(path);
    return [...foldersOf(dirname(path)), { kind: "directory", path, mode: FOLDER_MODE, owner: "root" }];
  };
  return leaves.flatMap((leaf) => [...foldersOf(dirname(leaf.path)), leaf]);
}
