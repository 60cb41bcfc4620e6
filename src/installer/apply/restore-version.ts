import { measure } from "../disk/content.ts";
import { type Disk, DiskError } from "../disk/disk.ts";
import { CACHE_FOLDER, SERVICE_UNIT, shippedCopy, SWITCHING_FILE } from "../layout.ts";
import { readInstalled, shippedDigests } from "../plan/installed.ts";
import { observe } from "../plan/observation.ts";
import { planItems, planOutdatedFiles, planOutdatedVersions } from "../plan/plan.ts";
import { currentLink, editable, type Item } from "../plan/wanted.ts";
import { applySteps, type ServiceOutcome, type Site } from "./apply.ts";

/**
 * Switches back to an installed version, removes what other versions installed, and restarts the service.
 *
 * @throws DiskError, ProgramFailed.
 */
export async function restoreVersion(id: string, site: Site): Promise<ServiceOutcome> {
  const { disk, system } = site;
  const installed = await readInstalled(disk);
  const shipped = installed.versions.find((version) => version.id === id)?.shipped ?? new Map<string, string>();
  const items: Item[] = [];
  for (const path of shipped.keys()) {
    items.push(editable([path, await measure({ kind: "copy", from: shippedCopy(id, path) }, disk)]));
  }
  items.push(currentLink(id));
  const observation = await observe(disk, items, shippedDigests(installed).keys());
  const machine = { observation, installed, account: await system.findOwner() };
  const never = new AbortController().signal;
  await dropCompiledCode(disk);
  return applySteps(
    [
      ...planItems(id, items, machine).steps,
      ...planOutdatedFiles(items, machine),
      ...planOutdatedVersions([id], installed),
      { kind: "reload-units" },
      { kind: "restart", unit: SERVICE_UNIT, wasWell: false },
      { kind: "remove", path: SWITCHING_FILE },
    ],
    { ...site, host: disk },
    never,
    () => {},
  );
}

/**
 * Clears the V8 compile cache: its keys contain the program's path, so entries of one version are of no use to another. A failure only costs
 * disk space.
 */
export async function dropCompiledCode(disk: Disk): Promise<void> {
  try {
    for (const name of await disk.list(CACHE_FOLDER)) await disk.removeTree(`${CACHE_FOLDER}/${name}`);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}
