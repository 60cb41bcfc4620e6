import { digestOf } from "../disk/content.ts";
import type { Disk, Sight } from "../disk/disk.ts";
import { CONFIGURATION_FILE, CREDENTIAL_FILE, KEY_FILE, MANIFEST_FILE } from "../layout.ts";
import type { Item } from "./wanted.ts";

/** What is at a path, with the digest of a file's content (hex). */
export type Seen =
  | Exclude<Sight, { readonly kind: "file" }>
  | (Extract<Sight, { readonly kind: "file" }> & { readonly sha256: string });

export type Observation = ReadonlyMap<string, Seen>;

export const ABSENT: Seen = { kind: "absent" };

/** Looks at the paths of the items, and at `others`. */
export async function observe(disk: Disk, items: readonly Item[], others: Iterable<string>): Promise<Observation> {
  const observation = new Map<string, Seen>();
  for (const item of items) {
    if (item.kind === "directory") observation.set(item.path, await seeThrough(disk, item.path));
    else observation.set(item.path, await see(disk, item.path));
  }
  for (const path of others) if (!observation.has(path)) observation.set(path, await see(disk, path));
  return observation;
}

export async function see(disk: Disk, path: string): Promise<Seen> {
  const sight = await disk.look(path);
  return sight.kind === "file" ? { ...sight, sha256: await digestOf(disk, path) } : sight;
}

/** A link to a folder counts as a folder. A file or a dangling link is `other`: it blocks the installation. */
async function seeThrough(disk: Disk, path: string): Promise<Seen> {
  const sight = await disk.lookThrough(path);
  if (sight.kind === "absent") return (await disk.look(path)).kind === "link" ? { kind: "other" } : sight;
  return sight.kind === "file" ? { kind: "other" } : sight;
}

/** What the robot has already. */
export interface Provisioned {
  readonly hasConfiguration: boolean;
  readonly hasManifest: boolean;
  /** An API key, or a credential of its own. */
  readonly hasCredential: boolean;
}

export async function observeProvisioning(disk: Disk): Promise<Provisioned> {
  const isThere = async (path: string) => (await disk.lookThrough(path)).kind === "file";
  return {
    hasConfiguration: await isThere(CONFIGURATION_FILE),
    hasManifest: await isThere(MANIFEST_FILE),
    hasCredential: (await isThere(KEY_FILE)) || (await isThere(CREDENTIAL_FILE)),
  };
}

const LIBRARY_FOLDERS = [
  "/usr/lib/systemd",
  "/usr/lib/x86_64-linux-gnu/systemd",
  "/usr/lib/aarch64-linux-gnu/systemd",
  "/usr/lib64/systemd",
];

/**
 * Reads the version from the file name of systemd's shared library. It does not run systemd, because an image may be for another
 * architecture.
 *
 * @returns null where there is no such library.
 */
export async function findSystemdVersion(disk: Disk): Promise<number | null> {
  for (const folder of LIBRARY_FOLDERS) {
    if ((await disk.lookThrough(folder)).kind !== "directory") continue;
    for (const name of await disk.list(folder)) {
      const [, version] = /^libsystemd-shared-(\d+)/.exec(name) ?? [];
      if (version !== undefined) return Number(version);
    }
  }
  return null;
}
