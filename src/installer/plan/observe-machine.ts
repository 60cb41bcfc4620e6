import type { Disk } from "../disk/disk.ts";
import { CONFIGURATION_FILE, KEY_FILE, MANIFEST_FILE } from "../layout.ts";

/** Which of the files that the operator provides exist. */
export interface Provisioned {
  readonly hasConfiguration: boolean;
  readonly hasManifest: boolean;
  readonly hasKey: boolean;
}

export async function observeProvisioning(disk: Disk): Promise<Provisioned> {
  const isThere = async (path: string) => (await disk.lookThrough(path)).kind === "file";
  return {
    hasConfiguration: await isThere(CONFIGURATION_FILE),
    hasManifest: await isThere(MANIFEST_FILE),
    hasKey: await isThere(KEY_FILE),
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
