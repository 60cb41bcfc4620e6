import { resolve } from "node:path";

import { shellWord } from "../../platform/text/shell-word.ts";
import type { Site } from "../apply/apply.ts";
import { type Content, measure, type Measured } from "../disk/content.ts";
import { findDistribution } from "../distribution.ts";
import { type InstallerContext, type InstallerMachine, type InstallerProblem, refusal } from "../installer.ts";
import { readGivenKey, type ReadInput } from "../key.ts";
import { type COMPLETION_FILES, FIRST_BOOT_UNIT, SERVICE_UNIT, SWITCHING_FILE } from "../layout.ts";
import { chooseNode } from "../node-runtime.ts";
import { findNewerState } from "../state.ts";
import { type Installed, readInstalled, shippedDigests } from "./installed.ts";
import { observe, findSystemdVersion, observeProvisioning } from "./observation.ts";
import { findMasked, isRestartLeft, planStart, planUnits } from "./plan-service.ts";
import {
  changesService,
  changesUnits,
  type Kept,
  noteFolders,
  planItems,
  planOutdatedFiles,
  planOutdatedVersions,
  writeNote,
} from "./plan.ts";
import type { Step } from "./step.ts";
import { currentLink, unitText, type Wanted, wantItems } from "./wanted.ts";

export interface InstallOptions {
  readonly dryRun?: boolean;
  /** The root folder of an image, instead of this machine. */
  readonly root?: string;
  /** The API key's file; `-` for stdin. */
  readonly keyFile?: string;
  readonly keyStdin?: boolean;
  /** The Node to install, instead of the one that runs this command. */
  readonly node?: string;
  readonly firstBoot?: boolean;
  /** False with `--no-enable` and `--no-start`. */
  readonly enable?: boolean;
  readonly start?: boolean;
  readonly json?: boolean;
  /** Flags that all other commands have. They are refused here: the unit expects the standard paths. */
  readonly config?: string;
  readonly stateDir?: string;
  readonly runtimeDir?: string;
}

export interface InstallContext extends InstallerContext {
  readonly completions: ReadonlyMap<keyof typeof COMPLETION_FILES, string>;
  readonly readInput: ReadInput;
  /** The newest schema of registration.json that this version reads. */
  readonly stateSchemaVersion: number;
}

/** A planned installation. Nothing has changed yet. */
export interface Installation {
  readonly kind: "installation";
  readonly version: string;
  /** Path of the copied Node, which is tried before the switch; null where the machine's own is used. */
  readonly node: string | null;
  /** Null for this machine. */
  readonly image: string | null;
  /** Create the version's folder, which nothing uses before `steps`. */
  readonly copying: readonly Step[];
  readonly steps: readonly Step[];
  readonly kept: readonly Kept[];
  /** The version to restore if the service does not start. */
  readonly previous: string | null;
  readonly changesService: boolean;
  readonly warnings: readonly string[];
}

type MeasureText = (text: string) => Promise<Measured>;

/** Observes the machine and plans. Changes nothing. */
export async function prepareInstallation(
  options: InstallOptions,
  context: InstallContext,
  site: Site,
  { own }: Pick<InstallerMachine, "own">,
): Promise<Installation | InstallerProblem> {
  const { disk, host, system } = site;
  const isImage = options.root !== undefined;
  const distribution = await findDistribution(host, await own.programPath());
  if (distribution.kind === "problem") return distribution;
  const node = await chooseNode({ given: options.node === undefined ? null : resolve(options.node), isImage }, own, {
    disk,
    host,
  });
  if (node.kind === "problem") return node;
  const keyFrom = keyPlace(options);
  const key = keyFrom === null ? null : await readGivenKey(keyFrom, context.readInput, host);
  if (key?.kind === "problem") return key;
  const newer = await findNewerState(disk, context.stateSchemaVersion);
  if (newer !== null) return newer;

  const measureContent = (content: Content) => measure(content, host);
  const measureText: MeasureText = (text) => measureContent({ kind: "text", text });
  const installed = await readInstalled(disk);
  const completions = new Map<keyof typeof COMPLETION_FILES, Measured>();
  for (const [shell, text] of context.completions) completions.set(shell, await measureText(text));
  const { service, firstBoot } = distribution.units;
  const wanted = await wantItems(
    {
      version: context.version,
      distribution,
      node,
      key: key === null ? null : await measureContent(key.content),
      completions,
      units: { service: await measureText(unitText(service)), firstBoot: await measureText(unitText(firstBoot)) },
      systemdVersion: await findSystemdVersion(disk),
    },
    measureText,
  );
  const files = await planFiles(wanted, installed, site, measureText);
  if (files.inTheWay.length > 0) return inTheWay(files.inTheWay);

  const all = [...files.copying, ...files.before];
  const question = {
    system,
    service: await system.readUnit(SERVICE_UNIT),
    firstBoot: await system.readUnit(FIRST_BOOT_UNIT),
    isFirst: installed.current === null || (installed.switching !== null && installed.switching.previous === null),
    enables: options.enable !== false,
    starts: options.start !== false,
    enablesFirstBoot: options.firstBoot === true,
    provisioned: await observeProvisioning(disk),
    // Systemd may not have loaded the units of an interrupted run.
    changesUnits: changesUnits(all) || installed.switching !== null,
    changesService: files.changesService,
  };
  const isSwitched = files.changesService && !isRestartLeft(question);
  // After a restart, only the version before is needed to go back.
  const needed = [wanted.id, files.previous, ...(isSwitched ? [] : [installed.current])];
  return {
    kind: "installation",
    version: context.version,
    node: wanted.node,
    image: isImage ? disk.root : null,
    copying: files.copying,
    steps: [
      ...files.before,
      ...planUnits(question),
      ...files.switching,
      ...planStart(question),
      ...planOutdatedVersions(needed, installed),
      ...(isSwitched ? [{ kind: "remove", path: SWITCHING_FILE } as const] : []),
    ],
    kept: files.kept,
    previous: files.previous,
    changesService: question.changesService,
    warnings: [
      ...(key === null || key.warning === null ? [] : [key.warning]),
      ...findMasked(question).map((unit) => maskedText(unit, isImage ? disk.root : null)),
    ],
  };
}

function maskedText(unit: string, image: string | null): string {
  const systemctl = image === null ? "systemctl" : `systemctl --root=${shellWord(image)}`;
  return `${unit} is masked, and stays so; to enable it: ${systemctl} unmask ${unit}; ${systemctl} enable ${unit}`;
}

/** A file, `-` for stdin, null to keep the installed key. */
function keyPlace({ keyFile, keyStdin }: InstallOptions): string | null {
  if (keyStdin === true || keyFile === "-") return "-";
  return keyFile === undefined ? null : resolve(keyFile);
}

interface PlannedFiles {
  readonly copying: readonly Step[];
  /** User, units and other files, and the removal of outdated ones: before the switch. */
  readonly before: readonly Step[];
  /** Replace the link `current`. */
  readonly switching: readonly Step[];
  readonly kept: readonly Kept[];
  readonly inTheWay: readonly string[];
  readonly previous: string | null;
  /** The service has to restart, after this run or an interrupted one. */
  readonly changesService: boolean;
}

async function planFiles(
  wanted: Wanted,
  installed: Installed,
  { disk, system }: Site,
  measureText: MeasureText,
): Promise<PlannedFiles> {
  const { id } = wanted;
  const current = currentLink(id);
  const items = [...wanted.notes, ...wanted.version, ...wanted.account, ...wanted.elsewhere, current];
  const observation = await observe(disk, items, shippedDigests(installed).keys());
  const machine = { observation, installed, account: await system.findOwner() };
  const notes = planItems(id, wanted.notes, machine);
  const copying = planItems(id, wanted.version, machine);
  const user = planItems(id, wanted.account, machine);
  const elsewhere = planItems(id, wanted.elsewhere, machine);
  const link = planItems(id, [current], machine);
  const previous = previousOf(id, installed);
  const made = [...notes.steps, ...copying.steps, ...user.steps, ...elsewhere.steps];
  const isChanged = link.steps.length > 0 || changesService(id, made);
  const isNoted = installed.switching !== null;
  return {
    copying: [
      ...notes.steps,
      ...(isChanged && !isNoted ? [await noteSwitch(previous ?? installed.current, measureText)] : []),
      ...(await noteFolders(made, installed, measureText)),
      ...copying.steps,
    ],
    before: [
      ...user.steps,
      ...((await system.findUser()) === null ? [{ kind: "add-user" } as const] : []),
      ...elsewhere.steps,
      ...planOutdatedFiles([...wanted.account, ...wanted.elsewhere], machine),
    ],
    switching: link.steps,
    kept: [user, elsewhere].flatMap((plan) => plan.kept),
    inTheWay: [notes, copying, user, elsewhere, link].flatMap((plan) => plan.inTheWay),
    previous,
    changesService: isChanged || isNoted,
  };
}

/** Records that a restart is due, with the version that ran before, which in a repair is the same. */
async function noteSwitch(before: string | null, measureText: MeasureText): Promise<Step> {
  return writeNote(SWITCHING_FILE, await measureText(before === null ? "" : `${before}\n`), false);
}

/** The version that ran before this one. Until a switch is completed, that is only the one before the switch. */
function previousOf(id: string, { current, versions, switching }: Installed): string | null {
  const ids = versions.map((version) => version.id);
  const ran = switching === null ? [current, ...ids] : [switching.previous];
  return ran.find((each) => each !== null && each !== id && ids.includes(each)) ?? null;
}

function inTheWay(paths: readonly string[]): InstallerProblem {
  return refusal({
    code: "in-the-way",
    what: "something else is at the agent's paths",
    where: paths.join(", "),
    fix: "move it away and run this again; nothing was changed",
  });
}
