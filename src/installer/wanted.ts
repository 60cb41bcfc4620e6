import { createHash } from "node:crypto";
import { dirname } from "node:path";

import type { Account } from "./accounts.ts";
import type { Measured } from "./content.ts";
import type { Distribution } from "./distribution.ts";
import { SHARED } from "./distribution.ts";
import {
  ADMINISTRATOR_UNITS_FOLDER,
  COMMAND_LINK,
  COMMAND_TARGET,
  COMPLETION_FILES,
  CONFIGURATION_FOLDER,
  CREDENTIAL_STORE_FILES,
  CURRENT_LINK,
  FIRST_BOOT_UNIT,
  GROWING_DELAY_FILE,
  KEY_FILE,
  NAME,
  PROGRAM,
  SERVICE_UNIT,
  STATE_FOLDER,
  SYSUSERS_FILE,
  UNITS_FOLDER,
  versionFolder,
} from "./layout.ts";
import type { NodeRuntime } from "./node-runtime.ts";
import type { Owner } from "./step.ts";

/** Something that is to be there in the end. */
export type Item =
  /** Mode and owner of a folder that is there already are somebody else's business. */
  | { readonly kind: "directory"; readonly path: string; readonly mode: number; readonly owner: Owner }
  | FileItem
  | { readonly kind: "link"; readonly path: string; readonly target: string; readonly keeping: Keeping };

export interface FileItem extends Measured {
  readonly kind: "file";
  readonly path: string;
  readonly mode: number;
  readonly owner: Owner;
  readonly keeping: Keeping;
  /** Not ours to take away again: the key, and files that hold other things too. */
  readonly is_unrecorded?: true;
}

/** What becomes of something else in its place: it is replaced, or it is a person's and stays. */
export type Keeping = "replaced" | "kept";

export interface Wanted {
  /** The name of the program's folder: version and a digest of all that is in it. */
  readonly program: string;
  /** In the order in which they are made. */
  readonly items: readonly Item[];
}

export interface Wishes {
  readonly version: string;
  readonly distribution: Distribution;
  readonly node: NodeRuntime;
  /** Null leaves the key that is there. */
  readonly key: Measured | null;
  readonly completions: ReadonlyMap<keyof typeof COMPLETION_FILES, Measured>;
  /** Units as they are installed, measured. */
  readonly units: Readonly<Record<"service" | "first_boot", Measured>>;
  /** Files of the image that hold its users, where the service user has to be added to them. */
  readonly accounts: readonly {
    readonly path: string;
    readonly measured: Measured;
    readonly mode: number;
    readonly owner: Account;
  }[];
  /** Of the machine's systemd; null where it is not found, and taken for old. */
  readonly systemd_version: number | null;
  /** Links by which units are enabled in an image. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/** Since which version systemd knows RestartSteps=. An older one complains of it at every reload. */
const GROWING_DELAY_VERSION = 254;
/** Since which version a credential that is in no store is no failure; 247 ends the agent for it. */
const CREDENTIAL_STORE_VERSION = 252;

const PROGRAM_MODE = 0o755;
const FILE_MODE = 0o644;
const KEY_MODE = 0o600;
const FOLDER_MODE = 0o755;
const STATE_MODE = 0o750;
const ID_DIGITS = 12;

/** Everything that an installation consists of, but for its record. Measures the launcher, which depends on all the rest. */
export async function wantItems(wishes: Wishes, measureText: (text: string) => Promise<Measured>): Promise<Wanted> {
  const { distribution, node, units } = wishes;
  const program = `${wishes.version}-${programDigest(distribution, node)}`;
  const folder = versionFolder(program);
  const node_path = node.kind === "system" ? node.path : `${folder}/node`;
  // Without the flag SIGUSR1 would open Node's inspector to every user of the machine.
  const launcher = await measureText(`#!${node_path} --disable-sigusr1\n${distribution.launcher}`);

  const shared = (name: string) => requireShipped(distribution, name);
  const systemd = wishes.systemd_version ?? 0;
  const leaves: Item[] = [
    ...[...distribution.files].map(([name, measured]) => ours(`${folder}/${name}`, measured, FILE_MODE)),
    ...(node.kind === "copy" ? [ours(node_path, node.measured, PROGRAM_MODE)] : []),
    ours(`${folder}/${NAME}`, launcher, PROGRAM_MODE),
    edited(SYSUSERS_FILE, shared(SHARED.sysusers)),
    ...wishes.accounts.map(({ path, measured, mode, owner }) => account(path, measured, mode, owner)),
    edited(`${CONFIGURATION_FOLDER}/config.example.yaml`, shared(SHARED.configuration)),
    edited(`${CONFIGURATION_FOLDER}/robot-manifest.example.yaml`, shared(SHARED.manifest)),
    ...(wishes.key === null ? [] : [keyFile(wishes.key)]),
    edited(`${UNITS_FOLDER}/${SERVICE_UNIT}`, units.service),
    edited(`${UNITS_FOLDER}/${FIRST_BOOT_UNIT}`, units.first_boot),
    ...(systemd >= GROWING_DELAY_VERSION ? [edited(GROWING_DELAY_FILE, shared(SHARED.growing_delay))] : []),
    ...(systemd >= CREDENTIAL_STORE_VERSION ? CREDENTIAL_STORE_FILES : []).map((path) =>
      edited(path, shared(SHARED.credential_store)),
    ),
    // Here and not by systemd alone: --setup at provisioning may come before the first start.
    { kind: "directory", path: STATE_FOLDER, mode: STATE_MODE, owner: "service" },
    ...[...wishes.completions].map(([shell, measured]) => edited(COMPLETION_FILES[shell], measured)),
    { kind: "link", path: CURRENT_LINK, target: `versions/${program}`, keeping: "replaced" },
    { kind: "link", path: COMMAND_LINK, target: COMMAND_TARGET, keeping: "kept" },
    ...wishes.links.map(({ path, target }): Item => ({ kind: "link", path, target, keeping: "kept" })),
  ];
  return { program, items: withFolders(leaves) };
}

/** The links that `systemctl enable` makes for a unit (systemd.unit(5), [Install]). */
export function linksOfUnit(
  unit_text: string,
  unit: string,
): readonly { readonly path: string; readonly target: string }[] {
  const targets = [...unit_text.matchAll(/^(WantedBy|RequiredBy)=(.*)$/gm)].flatMap(([, key, list = ""]) =>
    list
      .split(/\s+/)
      .filter((target) => /^[\w@.-]+$/.test(target))
      .map((target) => `${target}.${key === "WantedBy" ? "wants" : "requires"}`),
  );
  return targets.map((folder) => ({
    path: `${ADMINISTRATOR_UNITS_FOLDER}/${folder}/${unit}`,
    target: `${UNITS_FOLDER}/${unit}`,
  }));
}

/** The unit as shipped for /usr/bin, with the program where it is installed, and without the manual, which the packages alone bring. */
export function unitText(shipped: string): string {
  return shipped.replaceAll(`/usr/bin/${NAME}`, PROGRAM).replace(/^Documentation=man:.*\n/m, "");
}

function programDigest({ files, launcher }: Distribution, node: NodeRuntime): string {
  const hash = createHash("sha256");
  for (const [name, { sha256 }] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`${name} ${sha256}\n`);
  hash.update(`${node.kind} ${node.kind === "system" ? node.path : node.measured.sha256}\n${launcher}`);
  return hash.digest("hex").slice(0, ID_DIGITS);
}

function requireShipped({ files }: Distribution, name: string): Measured {
  const measured = files.get(name);
  if (measured === undefined) throw new Error(`Cannot install ${name}: it is no part of the distribution`);
  return measured;
}

function ours(path: string, measured: Measured, mode: number): FileItem {
  return { kind: "file", path, ...measured, mode, owner: "root", keeping: "replaced" };
}

function edited(path: string, measured: Measured): FileItem {
  return { kind: "file", path, ...measured, mode: FILE_MODE, owner: "root", keeping: "kept" };
}

function account(path: string, measured: Measured, mode: number, owner: Account): FileItem {
  return { kind: "file", path, ...measured, mode, owner, keeping: "replaced", is_unrecorded: true };
}

/** The service reads the file itself, so that a new key counts at once; nobody else may. */
function keyFile(key: Measured): FileItem {
  const owner = "service";
  return { kind: "file", path: KEY_FILE, ...key, mode: KEY_MODE, owner, keeping: "replaced", is_unrecorded: true };
}

/** Each folder before the first thing in it. */
function withFolders(leaves: readonly Item[]): readonly Item[] {
  const known = new Set(["/"]);
  const foldersOf = (path: string): readonly Item[] => {
    if (known.has(path)) return [];
    known.add(path);
    return [...foldersOf(dirname(path)), { kind: "directory", path, mode: FOLDER_MODE, owner: "root" }];
  };
  return leaves.flatMap((leaf) => [...foldersOf(dirname(leaf.path)), leaf]);
}
