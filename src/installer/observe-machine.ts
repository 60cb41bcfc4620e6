import type { Account, AccountFiles } from "./accounts.ts";
import { ACCOUNT_PATHS, addAccount } from "./accounts.ts";
import type { Site } from "./apply.ts";
import type { Measured } from "./content.ts";
import { measure } from "./content.ts";
import type { Disk } from "./disk.ts";
import { readText } from "./disk.ts";
import { ADMINISTRATOR_UNITS_FOLDER, CONFIGURATION_FILE, KEY_FILE, MANIFEST_FILE, SERVICE_USER } from "./layout.ts";
import type { UnitSeen } from "./system.ts";
import { findUserOf } from "./system.ts";

const ACCOUNTS_LIMIT_BYTES = 4 * 1024 * 1024;
const DESCRIPTION = "Robot policy agent";

/** Files that a person writes, and whether they are there. */
export interface Provisioned {
  readonly has_configuration: boolean;
  readonly has_manifest: boolean;
  readonly has_key: boolean;
}

export async function observeProvisioning(disk: Disk): Promise<Provisioned> {
  const isThere = async (path: string) => (await disk.lookThrough(path)).kind === "file";
  return {
    has_configuration: await isThere(CONFIGURATION_FILE),
    has_manifest: await isThere(MANIFEST_FILE),
    has_key: await isThere(KEY_FILE),
  };
}

export function findAccountAt({ disk, system }: Site): Promise<Account | null> {
  return system === null ? findUserOf(disk) : system.findUser();
}

/** The unit as the service manager has it; in an image, as it will. */
export async function observeUnit({ disk, system }: Site, unit: string): Promise<UnitSeen> {
  if (system !== null) return system.readUnit(unit);
  const own = await disk.look(`${ADMINISTRATOR_UNITS_FOLDER}/${unit}`);
  const is_masked = own.kind === "link" && own.target === "/dev/null";
  return { load_state: is_masked ? "masked" : "loaded", active_state: "inactive", unit_file_state: "" };
}

const LIBRARY_FOLDERS = [
  "/usr/lib/systemd",
  "/usr/lib/x86_64-linux-gnu/systemd",
  "/usr/lib/aarch64-linux-gnu/systemd",
  "/usr/lib64/systemd",
];

/**
 * Asks no program: an image may be for another processor. What systemd's own library is called tells its version.
 *
 * @returns null where none is found.
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

export type AccountChange = {
  readonly path: string;
  readonly measured: Measured;
  readonly mode: number;
  readonly owner: Account;
};

/** The files of an image that make it know the service user, with mode and owner as they are. Empty where it does. */
export async function accountChanges(
  disk: Disk,
  host: Disk,
  change: (files: AccountFiles) => AccountFiles | null = (files) => addAccount(files, SERVICE_USER, DESCRIPTION),
): Promise<readonly AccountChange[]> {
  const before = await readAccountFiles(disk);
  const after = change(before);
  if (after === null) return [];
  const changes: AccountChange[] = [];
  // The one that says whether there is such a user comes last, so that what was cut short is begun again.
  for (const part of ["group", "gshadow", "shadow", "passwd"] as const) {
    const text = after[part];
    const path = ACCOUNT_PATHS[part];
    const sight = await disk.look(path);
    if (text === null || text === before[part] || sight.kind !== "file") continue;
    const measured = await measure({ kind: "text", text }, host);
    changes.push({ path, measured, mode: sight.mode, owner: { user_id: sight.user_id, group_id: sight.group_id } });
  }
  return changes;
}

async function readAccountFiles(disk: Disk): Promise<AccountFiles> {
  const read = async (path: string) => {
    const text = await readText(disk, path, ACCOUNTS_LIMIT_BYTES);
    return text === "too-large" ? null : text;
  };
  const { passwd, group, shadow, gshadow } = ACCOUNT_PATHS;
  return {
    passwd: await read(passwd),
    group: await read(group),
    shadow: await read(shadow),
    gshadow: await read(gshadow),
  };
}
