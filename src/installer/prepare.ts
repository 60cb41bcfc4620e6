import type { Site } from "./apply.ts";
import type { Content, Measured } from "./content.ts";
import { measure } from "./content.ts";
import type { Distribution } from "./distribution.ts";
import { findDistribution } from "./distribution.ts";
import type { InstallerMachine, InstallerProblem } from "./installer.ts";
import { refusal } from "./installer.ts";
import type { ReadInput } from "./key.ts";
import { readGivenKey } from "./key.ts";
import type { COMPLETION_FILES } from "./layout.ts";
import { FIRST_BOOT_UNIT, RECORD_FILE, SERVICE_UNIT } from "./layout.ts";
import { chooseNode } from "./node-runtime.ts";
import { observe, see } from "./observation.ts";
import {
  accountChanges,
  findAccountAt,
  findSystemdVersion,
  observeProvisioning,
  observeUnit,
} from "./observe-machine.ts";
import type { Plan } from "./plan.ts";
import { outdatedFiles, planFiles } from "./plan.ts";
import { planService, unitsEnabledInImage } from "./plan-service.ts";
import type { InstallRecord } from "./record.ts";
import { readRecord, RECORD_MODE, recordText } from "./record.ts";
import { findLackOfRoom } from "./room.ts";
import { findNewerState } from "./state.ts";
import type { Step } from "./step.ts";
import { linksOfUnit, unitText, wantItems } from "./wanted.ts";

export interface InstallWishes {
  readonly version: string;
  readonly is_image: boolean;
  /** A file, `-` for stdin, null to leave the key as it is. */
  readonly key_from: string | null;
  readonly readInput: ReadInput;
  /** The Node to install; null for the one that runs this. */
  readonly node: string | null;
  readonly enables: boolean;
  readonly starts: boolean;
  readonly enables_first_boot: boolean;
  readonly completions: ReadonlyMap<keyof typeof COMPLETION_FILES, string>;
  /** The newest form of the agent's state that this version reads. */
  readonly state_schema_version: number;
}

/** Everything that is going to happen; nothing has. */
export interface Installation {
  readonly kind: "installation";
  readonly version: string;
  /** Null for this machine. */
  readonly image: string | null;
  readonly steps: readonly Step[];
  readonly plan: Plan;
  /** Files of earlier versions, which are taken away in the end. */
  readonly outdated: readonly string[];
  readonly warnings: readonly string[];
}

/** Looks at everything and plans. Changes nothing. */
export async function prepareInstallation(
  wishes: InstallWishes,
  site: Site,
  { own, runProgram }: Pick<InstallerMachine, "own" | "runProgram">,
): Promise<Installation | InstallerProblem> {
  const { disk, host } = site;
  const distribution = await findDistribution(host, await own.programPath());
  if (distribution.kind === "problem") return distribution;
  const node = await chooseNode({ given: wishes.node, is_image: wishes.is_image }, own, { disk, host, runProgram });
  if (node.kind === "problem") return node;
  const key = wishes.key_from === null ? null : await readGivenKey(wishes.key_from, wishes.readInput, host);
  if (key?.kind === "problem") return key;
  const found = await readRecord(disk);
  if (found === "unreadable") return foreignRecord();
  const newer = await findNewerState(disk, wishes.state_schema_version);
  if (newer !== null) return newer;

  const record = found?.removing === true ? null : found;
  const service = {
    service: await observeUnit(site, SERVICE_UNIT),
    first_boot: await observeUnit(site, FIRST_BOOT_UNIT),
    is_first: record === null,
    enables: wishes.enables,
    enables_first_boot: wishes.enables_first_boot,
  };
  const measureContent = (content: Content) => measure(content, host);
  const measureText = (text: string) => measureContent({ kind: "text", text });
  const account = await findAccountAt(site);
  const wanted = await wantItems(
    {
      version: wishes.version,
      distribution,
      node,
      key: key === null ? null : await measureContent(key.content),
      completions: await measureAll(wishes.completions, measureText),
      units: await installedUnits(distribution, measureText),
      systemd_version: await findSystemdVersion(disk),
      accounts: wishes.is_image ? await accountChanges(disk, host) : [],
      links: wishes.is_image
        ? unitsEnabledInImage(service).flatMap((unit) =>
            linksOfUnit(unit === SERVICE_UNIT ? distribution.units.service : distribution.units.first_boot, unit),
          )
        : [],
    },
    measureText,
  );
  const plan = planFiles(wanted, wishes.version, {
    observation: await observe(disk, wanted.items),
    record: found,
    account,
  });
  if (plan.in_the_way.length > 0) return inTheWay(plan.in_the_way);

  const on_disk = [...withUser(plan.steps, site, account === null), ...(await recordSteps(plan.record, site))];
  const provisioned = await observeProvisioning(disk);
  const starts = wishes.starts;
  const steps =
    site.system === null
      ? on_disk
      : [...on_disk, ...planService({ ...service, steps: on_disk, program: wanted.program, starts, provisioned })];
  const lack = await findLackOfRoom(disk, steps);
  if (lack !== null) return lack;
  return {
    kind: "installation",
    version: wishes.version,
    image: wishes.is_image ? disk.root : null,
    steps,
    plan,
    outdated: outdatedFiles(plan.record, wanted),
    warnings: key === null || key.warning === null ? [] : [key.warning],
  };
}

/** As soon as sysusers.d(5) can be read, and before anything belongs to the user. */
function withUser(steps: readonly Step[], { system }: Site, is_absent: boolean): readonly Step[] {
  if (system === null || !is_absent) return steps;
  const before = steps.findIndex((step) => "owner" in step && step.owner === "service");
  const at = before === -1 ? steps.length : before;
  return [...steps.slice(0, at), { kind: "add-user" }, ...steps.slice(at)];
}

/** Last of all files, and only where it says something new. */
async function recordSteps(record: InstallRecord, { disk, host }: Site): Promise<readonly Step[]> {
  const measured = await measure({ kind: "text", text: recordText(record) }, host);
  const seen = await see(disk, RECORD_FILE);
  if (seen.kind === "file" && seen.sha256 === measured.sha256) return [];
  const replaces = seen.kind !== "absent";
  return [{ kind: "write-file", path: RECORD_FILE, ...measured, mode: RECORD_MODE, owner: "root", replaces }];
}

async function installedUnits(
  { units }: Distribution,
  measureText: (text: string) => Promise<Measured>,
): Promise<Readonly<Record<"service" | "first_boot", Measured>>> {
  return {
    service: await measureText(unitText(units.service)),
    first_boot: await measureText(unitText(units.first_boot)),
  };
}

async function measureAll(
  texts: InstallWishes["completions"],
  measureText: (text: string) => Promise<Measured>,
): Promise<ReadonlyMap<keyof typeof COMPLETION_FILES, Measured>> {
  const measured = new Map<keyof typeof COMPLETION_FILES, Measured>();
  for (const [shell, text] of texts) measured.set(shell, await measureText(text));
  return measured;
}

function foreignRecord(): InstallerProblem {
  return refusal({
    code: "foreign-record",
    what: "the record of what is installed cannot be read: it is damaged, or of a newer version",
    where: RECORD_FILE,
    fix: "use the newer version; or remove the file: what differs from this version is then taken for yours and kept",
  });
}

function inTheWay(paths: readonly string[]): InstallerProblem {
  return refusal({
    code: "in-the-way",
    what: "something else is where the agent belongs",
    where: paths.join(", "),
    fix: "move it away and run this again; nothing was changed",
  });
}
