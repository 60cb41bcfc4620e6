import type { Look, LookRequest, Unsettled } from "../look/look.ts";
import { type ConfigurationFile, requestsFor, type Snapshot, takeSnapshot } from "../look/snapshot.ts";
import { isError } from "../documents/findings.ts";
import type { Machine } from "../platform/machine.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import type { Documents } from "./configuration/documents.ts";
import type { Wanted } from "./decide.ts";
import { documentFindings, fileFindings, locate, type LocatedFinding } from "./findings.ts";
import { asApproved, nameWithoutCredential } from "./identity/approval.ts";
import type { ApprovedRobot, RobotBefore } from "./identity/identity-files.ts";
import { buildRobotSetup, checkName, filesNow, listedFiles, type NameParts, robotName } from "./robot-setup.ts";

/** What should be registered, and the machine on which it was collected. */
export interface Collection {
  readonly kind: "collected";
  readonly wanted: Wanted;
  readonly machineId: string | null;
}

/** The robot's identity, as far as its name depends on it. */
export interface Names {
  /** The robot as an operator approved it; null for robots that are not enrolled. */
  readonly approved: ApprovedRobot | null;
  /** The robot that this computer was before it lost its credential; null for none. */
  readonly before: RobotBefore | null;
}

/** The first half of a run: turns configuration, manifest and configuration files into the body to register, or findings. */
export type Collector = ReturnType<typeof createCollector>;

export interface CollectorOptions {
  readonly machine: Machine;
  readonly look: Look;
  readonly documents: Documents;
  /** The name as it is known before the first collect. */
  readonly name?: string | undefined;
  /** Files that the daemon's user cannot read although this process can: nothing is registered. */
  readonly denials?: readonly LocatedFinding[] | undefined;
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

export function createCollector(options: CollectorOptions) {
  const { machine, look, documents, name = "", denials = [], onProgress } = options;
  const { identity, files: disk } = machine;
  let snapshot: Snapshot | null = null;
  /** The list with the files of its patterns, as the last collect found them. */
  let expanded: readonly ConfigurationFile[] = [];
  let ofFiles: readonly LocatedFinding[] = [];
  let currentName = name;
  let nameParts: NameParts | null = null;
  let isNameApproved = false;
  let isInvalidated = false;

  const expandedNow = () => filesNow(disk, documents.inForce, documents.manifest.reading.value);

  function nameRobot(machineId: string | null, { approved, before }: Names): NameParts {
    const parts = { hostname: identity.hostname(), machine: machineId };
    isNameApproved = approved !== null;
    nameParts = parts;
    currentName = approved?.robot_name ?? nameWithoutCredential(before, robotName(documents.inForce, parts));
    return parts;
  }

  function requests(): readonly LookRequest[] {
    return [...documents.requests(), ...requestsFor(expanded, documents.inForce.watch.file_limit_bytes)];
  }

  async function collectFiles(settle: boolean, names: Names, signal: AbortSignal): Promise<Collection | Unsettled> {
    const expansion = await expandedNow();
    expanded = expansion.files;
    const looked = await look.at(requests(), documents.settleMs(), { settle, signal, onProgress });
    if (looked.kind === "unsettled") return looked;
    // Documents and files that do not belong together are never registered: the disk may have been swapped in between.
    if (isInvalidated || !documents.areAsFound(looked.found)) {
      return { kind: "unsettled", waitMs: Math.max(1, documents.settleMs()), paths: documents.paths() };
    }
    const machineId = await identity.machine();
    const parts = nameRobot(machineId, names);
    const { inForce: current, configuration, manifest } = documents;
    const robot = manifest.reading.value;
    const invalid = (findings: readonly LocatedFinding[]): Collection => {
      ofFiles = findings;
      return { kind: "collected", wanted: { kind: "invalid" }, machineId };
    };
    if (robot === null) {
      // Without an error finding this is a draft with placeholders, which has no value.
      if (manifest.reading.findings.some(isError)) return invalid([]);
      ofFiles = [];
      return { kind: "collected", wanted: { kind: "draft" }, machineId };
    }
    if (expansion.finding !== null) return invalid([locate(manifest, expansion.finding)]);
    if (expansion.findings.length > 0)
      return invalid(fileFindings(expansion.findings, manifest, robot.configuration_files));
    const taken = await takeSnapshot(disk, expanded, looked, current.watch.file_limit_bytes);
    if (taken.kind === "refused") return invalid(fileFindings(taken.findings, manifest, robot.configuration_files));
    snapshot = taken.snapshot;
    ofFiles = fileFindings(taken.warnings, manifest, robot.configuration_files);
    if (denials.length > 0) return invalid([...ofFiles, ...denials]);
    const nameFinding = isNameApproved ? null : checkName(current, parts);
    if (nameFinding !== null) return invalid([...ofFiles, locate(configuration, nameFinding)]);
    if (robot.status === "draft") return { kind: "collected", wanted: { kind: "draft" }, machineId };
    const setup = buildRobotSetup(current, robot, snapshot.digest, currentName);
    const body = names.approved === null ? setup : asApproved(setup, names.approved);
    return { kind: "collected", wanted: { kind: "body", body }, machineId };
  }

  /** False for another hostname since, and for a name without a machine id, which the machine may have by now. */
  function isNameCurrent(): boolean {
    if (nameParts?.hostname !== identity.hostname()) return false;
    return isNameApproved || checkName(documents.inForce, nameParts) === null;
  }

  const pathsOf = (files: readonly ConfigurationFile[]) => [...documents.paths(), ...files.map(({ path }) => path)];

  /** True when no pattern stands for other files by now. */
  async function areSameFiles(): Promise<boolean> {
    const now = (await expandedNow()).files;
    return now.length === expanded.length && now.every(({ path }, index) => path === expanded[index]?.path);
  }

  return {
    /** Before the first collect, for a status until then. */
    async prepareName(names: Names) {
      nameRobot(await identity.machine(), names);
    },
    /** @param settle false to read the files now, without waiting for writers to finish. */
    async collect(settle: boolean, names: Names, signal: AbortSignal): Promise<Collection | Unsettled> {
      if (isInvalidated) look.invalidate();
      isInvalidated = false;
      return (await documents.read(settle, signal)) ?? collectFiles(settle, names, signal);
    },
    /** True when no collected file has changed since, nor the machine's name. Stats only. */
    isUnchanged: async () =>
      !isInvalidated && isNameCurrent() && (await areSameFiles()) && look.isUnchanged(pathsOf(expanded)),
    areDevicesUnchanged: async () =>
      !isInvalidated &&
      look.isUnchanged(expanded.filter(({ hardware }) => hardware !== undefined).map(({ path }) => path)),
    /** Discards all that was read: a collect under way gives no body, and the next one reads everything. */
    invalidate() {
      isInvalidated = true;
    },
    /** What to watch: configuration, manifest, the listed files and devices, and patterns. */
    paths: () => [
      ...new Set([
        ...pathsOf(expanded),
        ...pathsOf(listedFiles(documents.inForce, documents.manifest.reading.value).files),
      ]),
    ],
    /** The configuration in force: the last valid one. */
    get configuration(): AgentConfiguration {
      return documents.inForce;
    },
    /** null while the manifest has an error. */
    get manifest() {
      return documents.manifest.reading.value;
    },
    documents,
    get findings(): readonly LocatedFinding[] {
      const { configuration, manifest } = documents;
      return [...documentFindings(configuration), ...documentFindings(manifest), ...ofFiles];
    },
    /** The last snapshot. */
    get snapshot() {
      return snapshot;
    },
    get robotName() {
      return currentName;
    },
    /** True when the name is the one that an operator approved, and not the configured one. */
    get isNameApproved() {
      return isNameApproved;
    },
  };
}
