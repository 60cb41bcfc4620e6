import type { Site } from "./apply.ts";
import { removeAccount } from "./accounts.ts";
import { piecesOf } from "./content.ts";
import { removeEmptyDirectory, removeIfPresent, replaceFile } from "./durable.ts";
import { RECORD_FILE, RECORD_FOLDER, SERVICE_USER } from "./layout.ts";
import { accountChanges } from "./observe-machine.ts";
import type { RemovalPlan } from "./plan-removal.ts";
import type { InstallRecord } from "./record.ts";
import { writeRecord } from "./record.ts";
import type { Removal } from "./removal.ts";
import { removeOwnFile } from "./remove-outdated.ts";

/**
 * Does the removals in their order. The record goes last, and says from the first on that it is being removed: cut short, the next
 * `uninstall` goes on where this one ended, and an `install` starts afresh. Of what a person edited and keeps, it is kept as well.
 *
 * @throws DiskError, ProgramFailed.
 */
export async function removeAll(
  { removals, kept }: RemovalPlan,
  record: InstallRecord | null,
  site: Site,
  signal: AbortSignal,
  onRemoval: (removal: Removal) => void,
): Promise<"removed" | "interrupted"> {
  const { disk } = site;
  if (record !== null) await writeRecord(disk, { ...record, removing: true });
  for (const removal of removals) {
    if (signal.aborted) return "interrupted";
    await remove(removal, site);
    onRemoval(removal);
  }
  if (record !== null && kept.length > 0) {
    await writeRecord(disk, restOf(record, kept));
    return "removed";
  }
  await removeIfPresent(disk, RECORD_FILE);
  await removeEmptyDirectory(disk, RECORD_FOLDER);
  return "removed";
}

/** So that a later `uninstall --purge` takes it, and the folders around it. */
function restOf(record: InstallRecord, kept: readonly string[]): InstallRecord {
  const files = record.files.filter(({ path }) => kept.includes(path));
  const directories = record.directories.filter((folder) => kept.some((path) => path.startsWith(`${folder}/`)));
  return { ...record, removing: true, previous: null, files, links: [], directories };
}

async function remove(removal: Removal, site: Site): Promise<void> {
  const { disk, system } = site;
  switch (removal.kind) {
    case "stop":
      return system?.stop(removal.unit);
    case "disable":
      return system?.disable(removal.unit);
    case "file":
      if (removal.sha256 === null) await removeIfPresent(disk, removal.path);
      else await removeOwnFile(disk, removal.path, removal.sha256);
      return;
    case "link":
      return removeIfPresent(disk, removal.path);
    case "directory":
      await removeEmptyDirectory(disk, removal.path);
      return;
    case "tree":
      return disk.removeTree(removal.path);
    case "reload-units":
      return system?.reloadUnits();
    case "grants":
      return system?.revokeGrants();
    case "user":
      return system === null ? removeUserFromImage(site) : system.removeUser();
  }
}

async function removeUserFromImage({ disk, host }: Site): Promise<void> {
  const changes = await accountChanges(disk, host, (files) => removeAccount(files, SERVICE_USER));
  for (const { path, measured, mode, owner } of changes) {
    await replaceFile(disk, path, piecesOf(measured.content, host), { mode, ...owner });
  }
}
