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
  LOOK_UNIT,
  MANIFEST_FILE,
  NAME,
  PLACED_FILES,
  SERVICE_UNIT,
  SERVICE_USER,
  STATE_FOLDER,
  TIMER_UNIT,
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
  /** A timer in place of the service. */
  readonly onDemand?: boolean;
  /** The service in place of the timer. */
  readonly resident?: boolean;
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
    await showResult(plan.agent, site, context);
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
  readonly versions: readonly string[];
  readonly current: string | null;
  /** A run was interrupted before the service ran. */
  readonly isUnfinished: boolean;
  /** The version that ran last; null for a first installation. */
  readonly previous: string | null;
  /** The program has to start again. */
  readonly isSwitch: boolean;
  /** Units to enable; an update does not enable the agent's, which is the administrator's choice. */
  readonly enabled: readonly string[];
  readonly agent: AgentUnits;
}

/** The units of the agent: the service or the timer runs it, never both. */
interface AgentUnits {
  readonly unit: typeof SERVICE_UNIT | typeof TIMER_UNIT;
  readonly seen: UnitSeen;
  readonly other: typeof SERVICE_UNIT | typeof TIMER_UNIT;
  readonly otherSeen: UnitSeen;
  /** A flag asks for it, and it is not in place: it is enabled and started, and the other one stopped and disabled. */
  readonly isMove: boolean;
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
  const { tree, machine } = site;
  const node = options.node === undefined ? await machine.own.nodePath() : resolve(options.node);
  await checkNode(node, tree);
  const version = await describeVersion(context.version, await machine.own.programPath(), node, context.completions);
  await tree.refuseLinksOut(version.files.map(({ path }) => dirname(path)));
  const { keyFile } = options;
  const key = keyFile === undefined ? null : await readKey(keyFile, context);

  const current = parseId(await tree.readLink(CURRENT_LINK));
  const note = await tree.readText(UNFINISHED_FILE, TEXT_LIMIT_BYTES);
  const previous = note === null ? current : parseId(note);
  const agent = await chooseAgent(options, site);
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
    enabled: [
      ...(options.firstBoot === true ? [FIRST_BOOT_UNIT] : []),
      ...(previous === null || agent.isMove ? [agent.unit] : []),
    ],
    agent,
  };
}

/** As the flags say, or else as it is: by the service, unless the timer is enabled or active. */
async function chooseAgent({ onDemand, resident }: InstallOptions, { system }: Site): Promise<AgentUnits> {
  const [service, timer] = [await system.readUnit(SERVICE_UNIT), await system.readUnit(TIMER_UNIT)];
  const isChosen = onDemand === true || resident === true;
  const isTimer = isChosen ? onDemand === true : isInPlace(timer);
  const [unit, seen, other, otherSeen] = isTimer
    ? ([TIMER_UNIT, timer, SERVICE_UNIT, service] as const)
    : ([SERVICE_UNIT, service, TIMER_UNIT, timer] as const);
  if (isChosen && isMasked(seen)) {
    const fix = `systemctl unmask ${unit}, then run install again`;
    throw new InstallerError({ code: "masked", what: `${unit} is masked, so that it cannot start`, fix });
  }
  return { unit, seen, other, otherSeen, isMove: isChosen && (isInPlace(otherSeen) || !isInPlace(seen)) };
}

function isInPlace({ activeState, unitFileState }: UnitSeen): boolean {
  return unitFileState === "enabled" || !["inactive", "failed"].includes(activeState);
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
  if (plan.agent.isMove) await retireOther(plan.agent, site);
  for (const unit of plan.enabled) {
    const seen = await system.readUnit(unit);
    if (seen.unitFileState === "enabled" || isMasked(seen)) continue;
    await changes.make(`systemctl enable ${unit}`, () => system.changeUnit("enable", unit));
  }
  if (plan.current !== version.id)
    await changes.makeQuietly(`link ${CURRENT_LINK} → ${version.id}`, () => useVersion(tree, version.id));
  await startAgent(plan, site);
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

/** Never are both at work, nor both enabled. After an interruption in between, the next run with the flag enables the other one. */
async function retireOther({ other, otherSeen }: AgentUnits, { system, changes }: Site): Promise<void> {
  for (const verb of [
    ...(otherSeen.activeState === "inactive" ? [] : (["stop"] as const)),
    ...(otherSeen.unitFileState === "enabled" ? (["disable"] as const) : []),
  ])
    await changes.make(`systemctl ${verb} ${other}`, () => system.changeUnit(verb, other));
}

/** Starts the agent of a first installation or in its other form, and restarts a running one that has another version. */
async function startAgent(plan: Plan, site: Site): Promise<void> {
  const { system, changes } = site;
  const { agent, previous, isSwitch, isUnfinished } = plan;
  // A masked unit must never start (systemctl(1)).
  if (!system.isRunning || !(isSwitch || agent.isMove) || isMasked(agent.seen)) return;
  const isStopped = agent.seen.activeState === "inactive";
  if (isStopped && previous !== null && !agent.isMove) return;
  if (isSwitch && !isStopped) await changes.makeQuietly(`clear ${CACHE_FOLDER}`, () => system.removeTree(CACHE_FOLDER));
  try {
    // Without a configuration the unit's conditions keep it inactive, and that is no failure.
    for (const [verb, unit] of startOf(agent.unit, isStopped ? "start" : "restart"))
      await changes.make(`systemctl ${verb} ${unit}`, () => system.changeUnit(verb, unit));
  } catch (error) {
    const wasWell = agent.seen.activeState === "active" || isUnfinished;
    throw new InstallerError(await returnToPrevious(plan, site, reasonOfError(error), wasWell));
  }
}

/** Of the timer, a look first: it tells whether the program starts, which the timer does not. */
function startOf(
  unit: AgentUnits["unit"],
  verb: "start" | "restart",
): readonly (readonly ["start" | "restart", string])[] {
  return unit === SERVICE_UNIT
    ? [[verb, unit]]
    : [
        ["start", LOOK_UNIT],
        ["start", unit],
      ];
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
    for (const [verb, unit] of startOf(plan.agent.unit, "restart")) await system.changeUnit(verb, unit);
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

async function showResult(
  agent: AgentUnits,
  site: Site,
  { terminal, version, program }: InstallContext,
): Promise<void> {
  const { tree, changes, isImage } = site;
  const where = isImage ? ` in ${tree.root}` : "";
  if (changes.count === 0) terminal.print(`Nothing to change: ${NAME} ${version} is installed${where}`);
  else if (!changes.isDry) terminal.print(`${terminal.style("good", "ok")} ${NAME} ${version} is installed${where}`);
  if ((await tree.readLink(COMMAND_LINK)) !== COMMAND_TARGET && !changes.isDry)
    terminal.note(`${terminal.style("warn", "kept")}: ${COMMAND_LINK} is another program's`);
  const next = changes.isDry ? [] : await nextSteps(agent, site, program);
  if (next.length > 0) terminal.print("Next:");
  for (const [index, text] of next.entries()) terminal.print(`  ${index + 1}. ${text}`);
}

async function nextSteps(
  { unit }: AgentUnits,
  { tree, system, isImage }: Site,
  ownProgram: string,
): Promise<readonly string[]> {
  const program = `sudo ${isImage ? ownProgram : NAME}`;
  const folder = isImage ? ` --dir ${shellWord(join(tree.root, CONFIGURATION_FOLDER))}` : "";
  const enrolling = isImage
    ? `${program} install --root ${shellWord(tree.root)} --key-file FILE`
    : `${program} enroll  # or, with an API key: ${program} set-key`;
  const isConfigured = (await tree.isFile(CONFIGURATION_FILE)) && (await tree.isFile(MANIFEST_FILE));
  const hasCredential = (await tree.isFile(KEY_FILE)) || (await tree.isFile(CREDENTIAL_FILE));
  const writing = [...(isConfigured ? [] : [`${program} init${folder}`]), ...(hasCredential ? [] : [enrolling])];
  if (isImage) return writing;
  const { activeState, unitFileState } = await system.readUnit(unit);
  if (["active", "activating", "reloading"].includes(activeState)) return [...writing, `${program} status`];
  const start = unitFileState === "enabled" ? "start" : "enable --now";
  return [...writing, `${program} check`, `sudo systemctl ${start} ${unit === SERVICE_UNIT ? NAME : unit}`];
}
