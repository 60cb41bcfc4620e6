import { join, resolve } from "node:path";

import { isObject } from "../platform/is-object.ts";
import { EXIT, type ExitCode, type Problem } from "../platform/terminal.ts";
import { parseJson } from "../platform/text/parse-json.ts";
import { shellWord } from "../platform/text/shell-word.ts";
import { InstallerError, type InstallerProblem, reasonOfError, refusal } from "./errors.ts";
import { fail, failWith, type InstallerContext, type InstallerMachine, systemInstallerMachine } from "./installer.ts";
import { type GivenKey, readGivenKey, type ReadInput } from "./key.ts";
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
  SERVICE_UNIT,
  SERVICE_USER,
  STATE_FILES,
  STATE_FOLDER,
  UNFINISHED_FILE,
  versionFolder,
  VERSIONS_FOLDER,
} from "./layout.ts";
import { checkNode, tryNode } from "./node-runtime.ts";
import { openSite, type Site, type SiteOptions } from "./site.ts";
import { isMasked, type UnitSeen } from "./system.ts";
import { digestOf, ROOT_OWNER, type Source, type Tree, type WantedFile } from "./tree.ts";
import {
  type Completions,
  describeVersion,
  findMisplaced,
  listVersions,
  parseId,
  placeFile,
  readPlaced,
  type Version,
} from "./version.ts";

export interface InstallOptions extends SiteOptions {
  /** The API key's file; `-` for stdin. */
  readonly keyFile?: string;
  readonly keyStdin?: boolean;
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
  readonly readInput: ReadInput;
  /** The newest schema of the state files that this version reads. */
  readonly stateSchemaVersion: number;
}

/** `install`: installs the agent on this machine or into an image, or updates it to this version. */
export async function install(
  options: InstallOptions,
  context: InstallContext,
  machine: InstallerMachine = systemInstallerMachine,
): Promise<ExitCode> {
  const misuse = findMisuse(options);
  if (misuse !== null) {
    context.terminal.problem(misuse);
    return EXIT.usage;
  }
  try {
    const site = await openSite(options, "install", context, machine);
    if (site.kind === "problem") return fail(site.problem, context);
    await using _site = site;
    const plan = await planInstallation(options, context, site);
    if (plan.kind === "problem") return fail(plan.problem, context);
    await applyPlan(plan, site, machine);
    await showResult(plan, site, context);
    return EXIT.ok;
  } catch (error) {
    return failWith(error, "install", context);
  }
}

/** What is missing between the machine as it is and this version. */
interface Plan {
  readonly kind: "plan";
  readonly version: Version;
  readonly key: GivenKey | null;
  /** Files of the version's folder that are missing or differ. */
  readonly stale: readonly WantedFile[];
  readonly misplaced: ReadonlyMap<string, string | null>;
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

const NOTE_LIMIT_BYTES = 4096;
const STATE_LIMIT_BYTES = 4 * 1024 * 1024;
const KEY_MODE = 0o600;
const NOTE_MODE = 0o600;
const STATE_MODE = 0o750;

/** Looks at the machine. Changes nothing. */
async function planInstallation(
  options: InstallOptions,
  context: InstallContext,
  site: Site,
): Promise<Plan | InstallerProblem> {
  const { tree, host, system, own } = site;
  const node = options.node === undefined ? await own.nodePath() : resolve(options.node);
  const unfit = await checkNode(node, site);
  if (unfit !== null) return unfit;
  const program = await own.programPath();
  const version = await describeVersion(context.version, program, node, context.completions, host);
  if (version.kind === "problem") return version;
  const key = await readKeyOption(options, context.readInput, host);
  if (key?.kind === "problem") return key;
  const newer = await findNewerState(tree, context.stateSchemaVersion);
  if (newer !== null) return newer;

  const versions = await listVersions(tree);
  const current = parseId(await tree.readLink(CURRENT_LINK));
  const note = await tree.readText(UNFINISHED_FILE, NOTE_LIMIT_BYTES);
  const previous = note === null ? current : parseId(note);
  const stale: WantedFile[] = [];
  for (const file of version.files) if (await tree.isStale(file)) stale.push(file);
  const misplaced = await findMisplaced(tree, version.placed);
  return {
    kind: "plan",
    version,
    key,
    stale,
    misplaced,
    versions,
    current,
    isUnfinished: note !== null,
    previous,
    isSwitch: note !== null || current !== version.id || stale.length + misplaced.size > 0,
    enabled: [...(options.firstBoot === true ? [FIRST_BOOT_UNIT] : []), ...(previous === null ? [SERVICE_UNIT] : [])],
    service: await system.readUnit(SERVICE_UNIT),
  };
}

async function applyPlan(plan: Plan, site: Site, machine: InstallerMachine): Promise<void> {
  const { tree, system, changes } = site;
  const { version, isSwitch } = plan;
  if (isSwitch) await copyVersion(plan, site, machine);
  if ((await system.findUser()) === null)
    await changes.make(`add the system user ${SERVICE_USER}`, () => system.addUser(version.sysusers));
  await provide(plan, site);
  for (const [path, text] of plan.misplaced)
    await changes.makeQuietly(`${text === null ? "remove" : "write"} ${path}`, () => placeFile(tree, path, text));
  if ((await tree.kind(COMMAND_LINK)) === "absent")
    await changes.makeQuietly(`link ${COMMAND_LINK}`, () => tree.writeLink(COMMAND_LINK, COMMAND_TARGET));
  if (isSwitch && system.isRunning) await changes.makeQuietly("systemctl daemon-reload", () => system.reloadUnits());
  for (const unit of plan.enabled) {
    const seen = await system.readUnit(unit);
    if (seen.unitFileState === "enabled" || isMasked(seen)) continue;
    await changes.make(`systemctl enable ${unit}`, () => system.changeUnit("enable", unit));
  }
  if (plan.current !== version.id)
    await changes.makeQuietly(`link ${CURRENT_LINK} → ${version.id}`, () =>
      tree.writeLink(CURRENT_LINK, `versions/${version.id}`),
    );
  await startService(plan, site);
  if (isSwitch) await finish(plan, site);
}

/** Fills the version's folder and tries its Node. If either fails, a new folder is removed again: nothing has changed. */
async function copyVersion(plan: Plan, site: Site, { runProgram }: InstallerMachine): Promise<void> {
  const { tree, changes } = site;
  const { version, stale, previous, isUnfinished } = plan;
  try {
    if (!isUnfinished && !changes.isDry) {
      const source: Source = { kind: "text", text: `${previous ?? ""}\n` };
      await tree.writeFile({ path: UNFINISHED_FILE, source, mode: NOTE_MODE, owner: ROOT_OWNER });
    }
    for (const file of stale) await changes.makeQuietly(`write ${file.path}`, () => tree.writeFile(file));
    if (stale.length === 0 || changes.isDry) return;
    const unfit = await tryNode(`${versionFolder(version.id)}/node`, site, runProgram);
    if (unfit !== null) throw new InstallerError(unfit.problem);
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
  const source: Source = { kind: "text", text: `${key.secret.reveal()}\n` };
  // The service itself watches the file: a new key is used at once.
  const owner = (await system.findOwner()) ?? ROOT_OWNER;
  const file = { path: KEY_FILE, source, sha256: await digestOf(source), mode: KEY_MODE, owner };
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
  if (!isStopped)
    await changes.makeQuietly(`clear ${CACHE_FOLDER}`, async () => void (await system.removeTree(CACHE_FOLDER)));
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
    const misplaced = await findMisplaced(tree, await readPlaced(tree, previous));
    for (const [path, text] of misplaced) await placeFile(tree, path, text);
    await tree.writeLink(CURRENT_LINK, `versions/${previous}`);
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
    await changes.makeQuietly(`remove ${folder}`, async () => void (await system.removeTree(folder)));
  }
  if (!changes.isDry) await tree.remove(UNFINISHED_FILE);
}

async function showResult(plan: Plan, site: Site, { terminal, version, program }: InstallContext): Promise<void> {
  const { tree, changes, system, isImage } = site;
  const where = isImage ? ` in ${tree.root}` : "";
  if (changes.count === 0) terminal.print(`Nothing to change: ${NAME} ${version} is installed${where}`);
  else if (!changes.isDry) terminal.print(`${terminal.style("good", "ok")} ${NAME} ${version} is installed${where}`);
  if ((await tree.readLink(COMMAND_LINK)) !== COMMAND_TARGET && !changes.isDry)
    terminal.note(`${terminal.style("warn", "kept")}: ${COMMAND_LINK} is another program's`);
  if (plan.key !== null && plan.key.warning !== null) terminal.warning(plan.key.warning);
  for (const unit of plan.enabled) {
    if (!isMasked(await system.readUnit(unit))) continue;
    const systemctl = isImage ? `systemctl --root=${shellWord(tree.root)}` : "systemctl";
    terminal.warning(
      `${unit} is masked, and stays so; to enable it: ${systemctl} unmask ${unit}; ${systemctl} enable ${unit}`,
    );
  }
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

/** Refuses a downgrade that cannot read the state: the older agent would not know what is registered, or as which robot. */
async function findNewerState(tree: Tree, known: number): Promise<InstallerProblem | null> {
  for (const where of STATE_FILES) {
    const text = await tree.readText(where, STATE_LIMIT_BYTES);
    const state = text === null ? null : parseJson(text);
    const schemaVersion = isObject(state) ? state["schema_version"] : null;
    if (typeof schemaVersion === "number" && schemaVersion > known)
      return refusal({
        code: "newer-state",
        what: `the state was written by a newer agent (schema ${schemaVersion}; this agent reads up to ${known}); nothing was changed`,
        where,
        fix: "keep the newer version, or move that file away: the robot is then registered or enrolled anew",
      });
  }
  return null;
}

/** @returns null to keep the installed key. */
async function readKeyOption(
  { keyFile, keyStdin }: InstallOptions,
  readInput: ReadInput,
  host: Tree,
): Promise<GivenKey | InstallerProblem | null> {
  if (keyStdin === true || keyFile === "-") return readGivenKey("-", readInput, host);
  return keyFile === undefined ? null : readGivenKey(resolve(keyFile), readInput, host);
}

function findMisuse({ keyFile, keyStdin, config, stateDir, runtimeDir }: InstallOptions): Problem | null {
  if (keyStdin === true && keyFile !== undefined && keyFile !== "-") {
    const what = "the key is given twice";
    return { code: "two-keys", what, fix: "give either --key-file FILE or --key-stdin" };
  }
  if (config === undefined && stateDir === undefined && runtimeDir === undefined) return null;
  return {
    code: "fixed-places",
    what: "an installed agent has its files in the standard places",
    fix: "leave out --config, --state-dir and --runtime-dir; for other places: systemctl edit robot-policy-agent",
  };
}
