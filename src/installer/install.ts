import { dirname, join, resolve } from "node:path";

import { parseKey } from "../client/credential.ts";
import type { Secret } from "../client/secret.ts";
import { readBounded } from "../platform/files/durable-file.ts";
import { systemFiles } from "../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem } from "../platform/terminal.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import { InstallerError, reasonOfError } from "./errors.ts";
import { failWith, type InstallerContext, type InstallerMachine, systemInstallerMachine } from "./installer.ts";
import {
  CACHE_FOLDER,
  COMMAND_LINK,
  COMMAND_TARGET,
  CONFIGURATION_FILE,
  CONFIGURATION_FOLDER,
  CREDENTIAL_FILE,
  CURRENT_LINK,
  FIRST_BOOT_UNIT,
  KEY_FILE,
  MANIFEST_FILE,
  NAME,
  PLACED_FILES,
  SERVICE_UNIT,
  SERVICE_USER,
  STATE_FOLDER,
  UNFINISHED_FILE,
  versionFolder,
  VERSIONS_FOLDER,
} from "./layout.ts";
import { checkNode, tryNode } from "./node.ts";
import { openSite, type Site, type SiteOptions } from "./site.ts";
import { isMasked, type UnitSeen } from "./system.ts";
import { ROOT_OWNER, Tree, type WantedFile } from "./tree.ts";
import { type Completions, describeVersion, listVersions, parseId, type Version } from "./version.ts";

export interface InstallOptions extends SiteOptions {
  /** The API key's file; `-` for stdin. */
  readonly keyFile?: string;
  /** The Node to install, instead of the one that runs this command. */
  readonly node?: string;
  readonly firstBoot?: boolean;
  /** Flags that all other commands have. They are refused here: the unit expects the standard paths. */
  readonly config?: string;
  readonly stateDir?: string;
  readonly runtimeDir?: string;
}

export interface InstallContext extends InstallerContext {
  readonly completions: Completions;
  /** Reads all of stdin. */
  readonly readInput: (limitBytes: number) => Promise<string | "too-large">;
}

/** `install`: installs the agent on this machine or into an image, or updates it to this version. */
export async function install(
  options: InstallOptions,
  context: InstallContext,
  machine: InstallerMachine = systemInstallerMachine,
): Promise<ExitCode> {
  if (options.config !== undefined || options.stateDir !== undefined || options.runtimeDir !== undefined) {
    context.terminal.problem(FIXED_PLACES);
    return EXIT.usage;
  }
  try {
    await using site = await openSite(options, "install", context, machine);
    const plan = await planInstallation(options, context, site);
    await applyPlan(plan, site);
    await showResult(site, context);
    return EXIT.ok;
  } catch (error) {
    return failWith(error, "install", context);
  }
}

const FIXED_PLACES: Problem = {
  code: "fixed-places",
  what: "an installed agent has its files in the standard places",
  fix: "leave out --config, --state-dir and --runtime-dir; for other places: systemctl edit robot-policy-agent",
};

/** What is missing between the machine as it is and this version. */
interface Plan {
  readonly version: Version;
  /** Null to keep the installed key. */
  readonly key: Secret | null;
  /** Files of the version's folder that are missing or differ. */
  readonly stale: readonly WantedFile[];
  /** Files outside the version's folder that differ. */
  readonly misplaced: readonly Misplaced[];
  /** The installed versions. */
  readonly versions: readonly string[];
  readonly current: string | null;
  /** A run was interrupted before the service ran. */
  readonly isUnfinished: boolean;
  /** The version that ran last; null for a first installation. */
  readonly previous: string | null;
  /** The service has to restart. */
  readonly isSwitch: boolean;
  /** Units to enable; an update does not enable the service, which is the administrator's choice. */
  readonly enabled: readonly string[];
  readonly service: UnitSeen;
}

/** A unit or completion. Null texts: there is no such file. */
interface Misplaced {
  readonly path: string;
  readonly before: string | null;
  readonly wanted: string | null;
}

const TEXT_LIMIT_BYTES = 1024 * 1024;
/** Larger than any key with a BOM and blank lines around it. */
const KEY_LIMIT_BYTES = 4096;
const STATE_MODE = 0o750;

/** Looks at the machine. Changes nothing. */
async function planInstallation(options: InstallOptions, context: InstallContext, site: Site): Promise<Plan> {
  const { tree, system, machine } = site;
  const node = options.node === undefined ? await machine.own.nodePath() : resolve(options.node);
  await checkNode(node, tree);
  const version = await describeVersion(context.version, await machine.own.programPath(), node, context.completions);
  await tree.refuseLinksOut(version.files.map(({ path }) => dirname(path)));
  const { keyFile } = options;
  const key = keyFile === undefined ? null : await readKey(keyFile, context);

  const current = parseId(await tree.readLink(CURRENT_LINK));
  const note = await tree.readText(UNFINISHED_FILE, TEXT_LIMIT_BYTES);
  const previous = note === null ? current : parseId(note);
  const stale: WantedFile[] = [];
  for (const file of version.files) if (await tree.isStale(file)) stale.push(file);
  const misplaced: Misplaced[] = [];
  for (const path of PLACED_FILES) {
    const before = await tree.readText(path, TEXT_LIMIT_BYTES);
    const wanted = version.placed.get(path) ?? null;
    if (before !== wanted) misplaced.push({ path, before, wanted });
  }
  return {
    version,
    key,
    stale,
    misplaced,
    versions: await listVersions(tree),
    current,
    isUnfinished: note !== null,
    previous,
    isSwitch: note !== null || current !== version.id || stale.length + misplaced.length > 0,
    enabled: [...(options.firstBoot === true ? [FIRST_BOOT_UNIT] : []), ...(previous === null ? [SERVICE_UNIT] : [])],
    service: await system.readUnit(SERVICE_UNIT),
  };
}

/** The key's file may have any owner and mode: USB sticks and network shares have none. @param from a path, or `-` for stdin. */
async function readKey(from: string, { readInput }: InstallContext): Promise<Secret> {
  const where = from === "-" ? "stdin" : from;
  const read = from === "-" ? await readInput(KEY_LIMIT_BYTES) : await readBounded(systemFiles, from, KEY_LIMIT_BYTES);
  const fix = "give the key alone, on one line";
  if (read === "too-large") throw new InstallerError({ code: "key-too-large", what: "it is no key", where, fix });
  // The agent's own parser, so that the agent accepts what is accepted here.
  const found = parseKey(typeof read === "string" ? read : Buffer.from(read).toString("utf8"), "environment", where);
  if (found.kind === "credential") return found.secret;
  throw new InstallerError({ code: found.code, what: found.what, where, fix });
}

async function applyPlan(plan: Plan, site: Site): Promise<void> {
  const { tree, system, changes } = site;
  const { version, isSwitch } = plan;
  if (isSwitch) await copyVersion(plan, site);
  if ((await system.findUser()) === null)
    await changes.make(`add the system user ${SERVICE_USER}`, () => system.addUser(version.sysusers));
  await provide(plan, site);
  for (const { path, wanted } of plan.misplaced)
    await changes.makeQuietly(`${wanted === null ? "remove" : "write"} ${path}`, () => placeFile(tree, path, wanted));
  if ((await tree.kind(COMMAND_LINK)) === "absent")
    await changes.makeQuietly(`link ${COMMAND_LINK}`, () => tree.writeLink(COMMAND_LINK, COMMAND_TARGET));
  if (isSwitch && system.isRunning) await changes.makeQuietly("systemctl daemon-reload", () => system.reloadUnits());
  for (const unit of plan.enabled) {
    const seen = await system.readUnit(unit);
    if (seen.unitFileState === "enabled" || isMasked(seen)) continue;
    await changes.make(`systemctl enable ${unit}`, () => system.changeUnit("enable", unit));
  }
  if (plan.current !== version.id)
    await changes.makeQuietly(`link ${CURRENT_LINK} → ${version.id}`, () => useVersion(tree, version.id));
  await startService(plan, site);
  if (isSwitch) await finish(plan, site);
}

function useVersion(tree: Tree, id: string): Promise<void> {
  return tree.writeLink(CURRENT_LINK, `versions/${id}`);
}

async function placeFile(tree: Tree, path: string, text: string | null): Promise<void> {
  if (text === null) await tree.remove(path);
  else await tree.writeFile({ path, source: { kind: "text", text }, mode: 0o644, owner: ROOT_OWNER });
}

/** Fills the version's folder and tries its Node. If either fails, a new folder is removed again: nothing has changed. */
async function copyVersion(plan: Plan, site: Site): Promise<void> {
  const { tree, changes, machine } = site;
  const { version, stale, previous, isUnfinished } = plan;
  try {
    if (!isUnfinished && !changes.isDry) await placeFile(tree, UNFINISHED_FILE, `${previous ?? ""}\n`);
    for (const file of stale) await changes.makeQuietly(`write ${file.path}`, () => tree.writeFile(file));
    if (stale.length === 0 || changes.isDry) return;
    await tryNode(`${versionFolder(version.id)}/node`, tree, new Tree("/", machine.fs), machine.runProgram);
  } catch (error) {
    if (!plan.versions.includes(version.id)) await removeCopy(plan, site);
    throw error;
  }
}

/** The next run finds what could not be removed here. */
async function removeCopy({ version, isUnfinished }: Plan, { tree, system }: Site): Promise<void> {
  try {
    await system.removeTree(versionFolder(version.id));
    if (!isUnfinished) await tree.remove(UNFINISHED_FILE);
    await tree.removeEmptyFolders(VERSIONS_FOLDER);
  } catch (error) {
    // Throws bugs; nothing else is worth telling beside the first failure.
    reasonOfError(error);
  }
}

/** What belongs to the service user: the state folder, which `--setup` may need before the service has ever run, and the key. */
async function provide({ key }: Plan, { tree, system, changes }: Site): Promise<void> {
  // Null only with --dry-run.
  const user = (await system.findUser()) ?? ROOT_OWNER;
  if (!(await tree.isFolder(STATE_FOLDER)))
    await changes.makeQuietly(`create ${STATE_FOLDER}`, () => tree.makeFolder(STATE_FOLDER, STATE_MODE, user));
  if (key === null) return;
  // The service itself watches the file: a new key is used at once.
  const owner = (await system.findOwner()) ?? ROOT_OWNER;
  const source = { kind: "text", text: `${key.reveal()}\n` } as const;
  const file = { path: KEY_FILE, source, mode: 0o600, owner };
  if (await tree.isStale(file)) await changes.makeQuietly(`write ${KEY_FILE}`, () => tree.writeFile(file));
}

/** Starts the service of a first installation, and restarts a running one that has another version. */
async function startService(plan: Plan, site: Site): Promise<void> {
  const { system, changes } = site;
  const { service, previous, isSwitch, isUnfinished } = plan;
  // A masked unit must never start (systemctl(1)).
  if (!system.isRunning || !isSwitch || isMasked(service)) return;
  const isStopped = service.activeState === "inactive";
  if (isStopped && previous !== null) return;
  if (!isStopped) await changes.makeQuietly(`clear ${CACHE_FOLDER}`, () => system.removeTree(CACHE_FOLDER));
  const verb = isStopped ? "start" : "restart";
  try {
    // Without a configuration the unit's conditions keep it inactive, and that is no failure.
    await changes.make(`systemctl ${verb} ${SERVICE_UNIT}`, () => system.changeUnit(verb, SERVICE_UNIT));
  } catch (error) {
    const wasWell = service.activeState === "active" || isUnfinished;
    throw new InstallerError(await returnToPrevious(plan, site, reasonOfError(error), wasWell));
  }
}

/** The version before ran and this one does not start. The robot comes first: go back. */
async function returnToPrevious(plan: Plan, site: Site, reason: string, wasWell: boolean): Promise<Problem> {
  const { tree, system } = site;
  const { version, previous, versions } = plan;
  const fix = `journalctl -u ${NAME} -n 30 says why; the next install of this version tries it again`;
  if (!wasWell || previous === null || previous === version.id || !versions.includes(previous)) {
    await finish(plan, site);
    return { code: "start-failed", what: `the agent is installed, but did not start: ${reason}`, fix };
  }
  try {
    for (const { path, before } of plan.misplaced) await placeFile(tree, path, before);
    await useVersion(tree, previous);
    await system.reloadUnits();
    await system.changeUnit("restart", SERVICE_UNIT);
    await system.removeTree(versionFolder(version.id));
    await tree.remove(UNFINISHED_FILE);
    const what = `this version does not start, and the version before runs again: ${reason}`;
    return { code: "taken-back", what, fix };
  } catch (error) {
    const what = `this version does not start (${reason}), and neither does the one before: ${reasonOfError(error)}`;
    return { code: "not-put-back", what, fix };
  }
}

/** Removes the versions that are not needed to go back: all but the one before. After a repair, nobody knows which one that is. */
async function finish({ version, previous, versions }: Plan, { tree, system, changes }: Site): Promise<void> {
  const others = versions.filter((id) => id !== version.id && id !== previous);
  for (const id of previous === version.id ? [] : others) {
    const folder = versionFolder(id);
    await changes.makeQuietly(`remove ${folder}`, () => system.removeTree(folder));
  }
  if (!changes.isDry) await tree.remove(UNFINISHED_FILE);
}

async function showResult(site: Site, { terminal, version, program }: InstallContext): Promise<void> {
  const { tree, changes, isImage } = site;
  const where = isImage ? ` in ${tree.root}` : "";
  if (changes.count === 0) terminal.print(`Nothing to change: ${NAME} ${version} is installed${where}`);
  else if (!changes.isDry) terminal.print(`${terminal.style("good", "ok")} ${NAME} ${version} is installed${where}`);
  if ((await tree.readLink(COMMAND_LINK)) !== COMMAND_TARGET && !changes.isDry)
    terminal.note(`${terminal.style("warn", "kept")}: ${COMMAND_LINK} is another program's`);
  const next = changes.isDry ? [] : await nextSteps(site, program);
  if (next.length > 0) terminal.print("Next:");
  for (const [index, text] of next.entries()) terminal.print(`  ${index + 1}. ${text}`);
}

async function nextSteps({ tree, system, isImage }: Site, ownProgram: string): Promise<readonly string[]> {
  const program = `sudo ${isImage ? ownProgram : NAME}`;
  const folder = isImage ? ` --dir ${shellWord(join(tree.root, CONFIGURATION_FOLDER))}` : "";
  const enrolling = isImage
    ? `${program} install --root ${shellWord(tree.root)} --key-file FILE`
    : `${program} enroll  # or, with an API key: ${program} set-key`;
  const isConfigured = (await tree.isFile(CONFIGURATION_FILE)) && (await tree.isFile(MANIFEST_FILE));
  const hasCredential = (await tree.isFile(KEY_FILE)) || (await tree.isFile(CREDENTIAL_FILE));
  const writing = [...(isConfigured ? [] : [`${program} init${folder}`]), ...(hasCredential ? [] : [enrolling])];
  if (isImage) return writing;
  const { activeState, unitFileState } = await system.readUnit(SERVICE_UNIT);
  if (["active", "activating", "reloading"].includes(activeState)) return [...writing, `${program} status`];
  const start = unitFileState === "enabled" ? "start" : "enable --now";
  return [...writing, `${program} check`, `sudo systemctl ${start} ${NAME}`];
}
