import type { ExitCode, Problem } from "../../platform/terminal.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { Disk } from "../disk.ts";
import { readText } from "../disk.ts";
import type { InstallerContext, InstallerMachine } from "../installer.ts";
import { systemInstallerMachine } from "../installer.ts";
import { FIRST_BOOT_UNIT, PROGRAM_FOLDER, RECORD_FILE, SERVICE_UNIT, UNITS_FOLDER } from "../layout.ts";
import type { Seen } from "../observation.ts";
import { see } from "../observation.ts";
import { findAccountAt, observeUnit } from "../observe-machine.ts";
import type { OpenSite } from "../open-site.ts";
import { openSite } from "../open-site.ts";
import { PURGED_TREES, planRemoval } from "../plan-removal.ts";
import type { InstallRecord } from "../record.ts";
import { readRecord } from "../record.ts";
import { recover } from "../recover.ts";
import { removeAll } from "../remove.ts";
import { describeRemoval } from "../removal.ts";
import type { Left } from "../show-removal.ts";
import { showRemoval } from "../show-removal.ts";
import type { UnitSeen } from "../system.ts";
import { reasonOfError } from "../system.ts";
import { linksOfUnit } from "../wanted.ts";

export interface UninstallOptions {
  readonly dryRun?: boolean;
  /** An image in place of this machine. */
  readonly root?: string;
  /** Configuration, key and registration too. */
  readonly purge?: boolean;
  readonly json?: boolean;
}

const UNIT_LIMIT_BYTES = 1024 * 1024;
const FOREIGN_RECORD: Problem = {
  code: "foreign-record",
  what: "the record of what is installed cannot be read: it is damaged, or of a newer version",
  where: RECORD_FILE,
  fix: "use the newer version, or run install of this one first",
};

/**
 * `uninstall`: takes the agent off this machine or out of an image, and leaves configuration, key and registration unless they are
 * purged. Asks nobody, and needs no network: the service keeps the robot in its list.
 */
export async function uninstall(
  options: UninstallOptions,
  context: InstallerContext,
  machine: InstallerMachine = systemInstallerMachine,
): Promise<ExitCode> {
  try {
    const site = await openSite(options, "uninstall", context, machine);
    if (site.kind === "problem") return fail(site.problem, context);
    await using _site = site;
    return await uninstallFrom(site, options, context);
  } catch (error) {
    const fix = "mend that and run uninstall again, which goes on from there";
    return fail({ code: "not-removed", what: reasonOfError(error), fix }, context);
  }
}

async function uninstallFrom(site: OpenSite, options: UninstallOptions, context: InstallerContext): Promise<ExitCode> {
  const { terminal, signal } = context;
  const is_dry = options.dryRun === true;
  const recovered = await recover(site, is_dry);
  if (recovered.kind === "problem") return fail(recovered.problem, context);
  const record = await readRecord(site.disk);
  if (record === "unreadable") return fail(FOREIGN_RECORD, context);

  const enabling_links = await linksOfUnits(site.disk);
  const plan = planRemoval({
    record,
    seen: await lookAround(site.disk, record, enabling_links),
    units: site.system === null ? null : await unitsOf(site),
    enabling_links,
    account: await findAccountAt(site),
    has_grants: await hasGrants(site),
    purges: options.purge === true,
  });
  const shown = {
    terminal,
    is_dry,
    is_json: options.json === true,
    image: options.root === undefined ? null : site.disk.root,
  };
  if (is_dry) {
    showRemoval(plan, await lookForLeft(site, options), shown);
    return EXIT.ok;
  }
  const end = await removeAll(plan, record, site, signal, (removal) => {
    if (options.json !== true) terminal.print(describeRemoval(removal));
  });
  if (end === "interrupted") {
    const fix = "run uninstall again, which goes on from there";
    fail({ code: "interrupted", what: "uninstall was interrupted, and not all is removed", fix }, context);
    return EXIT.interrupted;
  }
  showRemoval(plan, await lookForLeft(site, options), shown);
  return EXIT.ok;
}

/** What belongs to the robot and not to the program. */
async function lookForLeft(site: OpenSite, { purge }: UninstallOptions): Promise<Left> {
  if (purge === true) return { trees: [], has_user: false, has_grants: false };
  const trees: string[] = [];
  for (const path of PURGED_TREES) if ((await site.disk.look(path)).kind !== "absent") trees.push(path);
  return { trees, has_user: (await findAccountAt(site)) !== null, has_grants: await hasGrants(site) };
}

async function hasGrants({ system }: OpenSite): Promise<boolean> {
  return system !== null && system.hasGrants();
}

async function lookAround(
  disk: Disk,
  record: InstallRecord | null,
  links: InstallRecord["links"],
): Promise<ReadonlyMap<string, Seen>> {
  const seen = new Map<string, Seen>();
  for (const { path } of record?.files ?? []) {
    // A program of 150 MB need not be read to be removed.
    const sight = await disk.look(path);
    const is_own = path.startsWith(`${PROGRAM_FOLDER}/`);
    seen.set(path, sight.kind === "file" && is_own ? { ...sight, sha256: "" } : await see(disk, path));
  }
  const others = [...(record?.links ?? []), ...links].map(({ path }) => path);
  for (const path of [...others, ...(record?.directories ?? []), ...PURGED_TREES]) {
    const sight = await disk.look(path);
    seen.set(path, sight.kind === "file" ? { kind: "other" } : sight);
  }
  return seen;
}

/** As the installed units say; a person may have enabled what the installation did not. */
async function linksOfUnits(disk: Disk): Promise<InstallRecord["links"]> {
  const links: InstallRecord["links"][number][] = [];
  for (const unit of [SERVICE_UNIT, FIRST_BOOT_UNIT]) {
    const text = await readText(disk, `${UNITS_FOLDER}/${unit}`, UNIT_LIMIT_BYTES);
    if (text !== null && text !== "too-large") links.push(...linksOfUnit(text, unit));
  }
  return links;
}

async function unitsOf(site: OpenSite): Promise<ReadonlyMap<string, UnitSeen>> {
  const units = new Map<string, UnitSeen>();
  for (const unit of [FIRST_BOOT_UNIT, SERVICE_UNIT]) units.set(unit, await observeUnit(site, unit));
  return units;
}

function fail(problem: Problem, { terminal }: InstallerContext): ExitCode {
  terminal.problem(problem);
  return EXIT.failed;
}
