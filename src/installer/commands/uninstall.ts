import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { applyRemoval, describeRemoval } from "../apply/removal.ts";
import { reasonOfError, type System, type UnitSeen } from "../apply/system.ts";
import type { Disk } from "../disk/disk.ts";
import { replaceFile } from "../disk/durable.ts";
import { fail, type InstallerContext, type InstallerMachine, systemInstallerMachine } from "../installer.ts";
import { FIRST_BOOT_UNIT, MADE_FOLDERS_FILE, SERVICE_UNIT, SERVICE_USER } from "../layout.ts";
import { type OpenSite, openSite } from "../open-site.ts";
import { readInstalled } from "../plan/installed.ts";
import { observe } from "../plan/observation.ts";
import { PURGED_TREES, planRemoval, removablePaths } from "../plan/plan-removal.ts";
import { type Left, showRemoval } from "../show-removal.ts";

/** UID_MIN of login.defs(5). Lower numbers are of system accounts, such as the one that `install` makes. */
const FIRST_PERSON_ID = 1000;

export interface UninstallOptions {
  readonly dryRun?: boolean;
  /** The root folder of an image, instead of this machine. */
  readonly root?: string;
  /** Also removes configuration, key and registration. */
  readonly purge?: boolean;
  readonly json?: boolean;
}

/**
 * `uninstall`: removes the agent from this machine or from an image. Configuration, key and registration stay unless `--purge` is given.
 * Asks no questions and needs no network: the robot stays in the service's list.
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
    const fix = "fix that and run uninstall again: it continues from there";
    return fail({ code: "not-removed", what: reasonOfError(error), fix }, context);
  }
}

async function uninstallFrom(site: OpenSite, options: UninstallOptions, context: InstallerContext): Promise<ExitCode> {
  const { terminal, signal } = context;
  const { disk, system } = site;
  const isDry = options.dryRun === true;
  const account = await system.findUser();
  const isPerson = account !== null && account.userId >= FIRST_PERSON_ID;
  const installed = await readInstalled(disk);
  const plan = planRemoval({
    installed,
    seen: await observe(disk, [], removablePaths(installed)),
    system,
    units: await unitsOf(system),
    account: isPerson ? null : account,
    hasGrants: await system.hasGrants(),
    purges: options.purge === true,
  });
  const shown = {
    terminal,
    isDry,
    isJson: options.json === true,
    program: context.program,
    image: options.root === undefined ? null : disk.root,
  };
  if (!isDry) {
    for (const removal of plan.removals) {
      if (signal.aborted) {
        const fix = "run uninstall again: it continues from there";
        fail({ code: "interrupted", what: "uninstall was interrupted before everything was removed", fix }, context);
        return EXIT.interrupted;
      }
      await applyRemoval(removal, site);
      if (options.json !== true) terminal.print(describeRemoval(removal));
    }
    if (plan.remembered.length > 0) await rememberFolders(disk, plan.remembered);
  }
  showRemoval(plan, await lookForLeft(site, options), shown);
  if (options.purge === true && isPerson && !shown.isJson)
    terminal.note(`The account ${SERVICE_USER} stays: by its number ${account.userId} it is a person's`);
  return EXIT.ok;
}

async function rememberFolders(disk: Disk, folders: readonly string[]): Promise<void> {
  const text = folders.map((path) => `${path}\n`).join("");
  await replaceFile(disk, MADE_FOLDERS_FILE, [Buffer.from(text)], { mode: 0o600, userId: 0, groupId: 0 });
}

/** What `uninstall` leaves behind without `--purge`. */
async function lookForLeft({ disk, system }: OpenSite, { purge }: UninstallOptions): Promise<Left> {
  if (purge === true) return { trees: [], hasUser: false, hasGrants: false };
  const trees: string[] = [];
  for (const path of PURGED_TREES) if ((await disk.look(path)).kind !== "absent") trees.push(path);
  return { trees, hasUser: (await system.findUser()) !== null, hasGrants: await system.hasGrants() };
}

async function unitsOf(system: System): Promise<ReadonlyMap<string, UnitSeen>> {
  const units = new Map<string, UnitSeen>();
  for (const unit of [FIRST_BOOT_UNIT, SERVICE_UNIT]) units.set(unit, await system.readUnit(unit));
  return units;
}
