import { EXIT, type ExitCode } from "../platform/terminal.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import { failWith, type InstallerContext, type InstallerMachine, systemInstallerMachine } from "./installer.ts";
import {
  ADMINISTRATOR_UNITS_FOLDER,
  CACHE_FOLDER,
  COMMAND_LINK,
  COMMAND_TARGET,
  CONFIGURATION_FOLDER,
  FIRST_BOOT_UNIT,
  LOOK_UNIT,
  GRANTS_FILE,
  KEY_FILE,
  NAME,
  NOTES_FOLDER,
  PLACED_FILES,
  PROGRAM_FOLDER,
  RUNTIME_FOLDER,
  SERVICE_UNIT,
  SERVICE_USER,
  STATE_FOLDER,
  TIMER_UNIT,
  UNITS,
} from "./layout.ts";
import { openSite, type Site, type SiteOptions } from "./site.ts";
import { temporaryOf } from "./tree.ts";

export interface UninstallOptions extends SiteOptions {
  /** Also removes configuration, key, registration and user. */
  readonly purge?: boolean;
}

/** Configuration, key and registration of the robot, which only `--purge` removes. */
const PURGED_TREES = [
  CONFIGURATION_FOLDER,
  STATE_FOLDER,
  RUNTIME_FOLDER,
  ...UNITS.map((unit) => `${ADMINISTRATOR_UNITS_FOLDER}/${unit}.d`),
];

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
    await using site = await openSite(options, "uninstall", context, machine);
    const { tree, changes } = site;
    const { terminal } = context;
    const isKnown = (await tree.kind(STATE_FOLDER)) !== "absent";
    await remove(site, options.purge === true, context);
    const where = site.isImage ? ` in ${tree.root}` : "";
    if (changes.count === 0) terminal.print(`Nothing to remove: ${NAME} is not installed${where}`);
    else if (!changes.isDry) terminal.print(`${terminal.style("good", "ok")} ${NAME} is removed${where}`);
    if (options.purge !== true) await showLeft(site, context);
    else if (isKnown) {
      const command = "robot-policy robots remove NAME";
      terminal.note(`The service still knows a robot that was registered here. To remove it there: ${command}`);
    }
    return EXIT.ok;
  } catch (error) {
    return failWith(error, "uninstall", context);
  }
}

/** The program's folder goes last: until then, a repeat knows what else belongs to the installation. */
async function remove(site: Site, purges: boolean, context: InstallerContext): Promise<void> {
  const { tree, system, changes, machine } = site;
  // When nothing is installed, units of these names belong to something else.
  const isInstalled = (await tree.kind(PROGRAM_FOLDER)) !== "absent";
  if (isInstalled)
    for (const unit of [FIRST_BOOT_UNIT, TIMER_UNIT, LOOK_UNIT, SERVICE_UNIT]) await retireUnit(site, unit);
  // Before its record and the user, which the record names.
  if (purges && !site.isImage && (await tree.isFile(GRANTS_FILE))) {
    const words = [await machine.own.nodePath(), await machine.own.programPath(), "grant", "--revoke"];
    await changes.make("revoke the file access that was granted", async () => void (await system.run(words)));
  }
  if ((await tree.readLink(COMMAND_LINK)) === COMMAND_TARGET) await removeFile(site, COMMAND_LINK);
  if (isInstalled) for (const path of PLACED_FILES) await removeFile(site, path);
  // What a power cut left half written.
  for (const half of [temporaryOf(COMMAND_LINK), temporaryOf(KEY_FILE)])
    if ((await tree.kind(half)) !== "absent") await removeFile(site, half);
  for (const path of [CACHE_FOLDER, ...(purges ? [...PURGED_TREES, NOTES_FOLDER] : [])])
    await removeTree(site, path, context);
  if (system.isRunning && isInstalled) await changes.make("systemctl daemon-reload", () => system.reloadUnits());
  if (purges && ((await system.findUser()) !== null || (await system.hasGroup())))
    await changes.make(`remove the system user ${SERVICE_USER}`, () => system.removeUser());
  await removeTree(site, PROGRAM_FOLDER, context);
}

async function retireUnit({ system, changes }: Site, unit: string): Promise<void> {
  const { activeState, unitFileState } = await system.readUnit(unit);
  const stop = activeState === "failed" ? "reset-failed" : "stop";
  if (activeState !== "inactive") await changes.make(`systemctl ${stop} ${unit}`, () => system.changeUnit(stop, unit));
  if (unitFileState === "enabled")
    await changes.make(`systemctl disable ${unit}`, () => system.changeUnit("disable", unit));
}

async function removeFile({ tree, changes }: Site, path: string): Promise<void> {
  if ((await tree.kind(path)) !== "absent") await changes.make(`remove ${path}`, () => tree.remove(path));
  // An interrupted run may have made only its folder, or half of it.
  else if (!changes.isDry) await tree.remove(path);
}

/** With everything in it. What a link in its place leads to may belong to somebody else, and stays. */
async function removeTree(
  { tree, system, changes }: Site,
  path: string,
  { terminal }: InstallerContext,
): Promise<void> {
  for (const each of [temporaryOf(path), path]) {
    const kind = await tree.kind(each);
    if (kind === "absent") continue;
    if (kind === "link") terminal.note(`${each} is a link; what it leads to stays: ${await tree.readLink(each)}`);
    await changes.make(kind === "folder" ? `remove ${each}/ and everything in it` : `remove ${each}`, async () => {
      await system.removeTree(each);
      await tree.removeEmptyFolders(each);
    });
  }
}

/** Names what stays without `--purge`, and how to remove it: on this machine by hand, because the program itself is gone. */
async function showLeft({ tree, system, isImage }: Site, { terminal, program }: InstallerContext): Promise<void> {
  if (await tree.isFile(GRANTS_FILE))
    terminal.note(`The file access that was granted stays. An installed agent revokes it: sudo ${NAME} grant --revoke`);
  const trees: string[] = [];
  for (const path of PURGED_TREES) if ((await tree.kind(path)) !== "absent") trees.push(path);
  const hasUser = (await system.findUser()) !== null;
  if (trees.length === 0 && !hasUser) return;
  const left = [...trees, ...(hasUser ? [`the user ${SERVICE_USER}`] : [])];
  const byHand = [`rm -rf ${trees.join(" ")}`, ...(hasUser ? [`userdel ${SERVICE_USER}`] : [])].join("; ");
  const purging = isImage ? `${program} uninstall --root ${shellWord(tree.root)} --purge` : byHand;
  terminal.print(`Left: ${left.join(", ")}. To remove that too, as root:`);
  terminal.print(`  ${purging}`);
}
