import { isDeepStrictEqual } from "node:util";

import { createFingerprinter, type Fingerprinter } from "../fingerprint/fingerprint.ts";
import type { RereadScope } from "../fingerprint/rereading.ts";
import type { Snapshot } from "../fingerprint/snapshot.ts";
import type { Unsettled } from "../fingerprint/waiting.ts";
import { isError } from "../manifest/finding.ts";
import type { RobotManifest } from "../manifest/manifest.ts";
import type { Machine } from "../platform/machine.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import type { DocumentInput } from "./configuration/document-input.ts";
import type { Wanted } from "./decide.ts";
import { documentFindings, fileFindings, locate, type LocatedFinding } from "./findings.ts";
import { type ApprovedRobot, asApproved, nameWithoutCredential, type RobotBefore } from "./identity/approval.ts";
import type { Registration } from "./registration/record.ts";
import {
  buildRobotSetup,
  checkName,
  configurationFiles,
  listedFiles,
  type NameParts,
  robotName,
} from "./robot-setup.ts";

/** What should be registered, and the machine on which it was collected. */
export interface Collection {
  readonly kind: "collected";
  readonly wanted: Wanted;
  readonly machineId: string | null;
}

/** The first half of a run: turns configuration, manifest and configuration files into the body to register, or findings. */
export type Collector = ReturnType<typeof createCollector>;

export interface CollectorOptions {
  readonly machine: Machine;
  readonly configuration: DocumentInput<AgentConfiguration>;
  /** The valid configuration to start with. */
  readonly initial: AgentConfiguration;
  /** The registration of an earlier process; null to read every file. */
  readonly registration: Registration | null;
  openManifest(path: string, settleMs: () => number): DocumentInput<RobotManifest>;
  /** The robot as an operator approved it; null for robots that are not enrolled. */
  approved(): ApprovedRobot | null;
  /** The robot that this computer was before it lost its credential; null for none. */
  before(): RobotBefore | null;
  /** Called when another configuration takes effect. */
  onConfiguration(configuration: AgentConfiguration): void;
  /** Progress of hashing. */
  onProgress?(doneBytes: number, totalBytes: number): void;
}

/** How long a program may take to write a file in place. */
const GRACE_MS = 10_000;

export function createCollector(options: CollectorOptions) {
  const { machine, configuration } = options;
  const progress = options.onProgress === undefined ? {} : { onProgress: options.onProgress };
  let current = options.initial;
  let manifest = options.openManifest(current.manifest, () => current.watch.settle_ms);
  let fingerprinter = startFingerprinter();
  fingerprinter.remember(options.registration?.files ?? []);
  let snapshot: Snapshot | null = null;
  let ofFiles: readonly LocatedFinding[] = [];
  let currentName = options.registration?.request.name ?? "";
  let nameParts: NameParts | null = null;
  let isNameApproved = false;
  let isInvalidated = false;

  function startFingerprinter(): Fingerprinter {
    const { settle_ms: settleMs, file_limit_bytes: fileLimitBytes } = current.watch;
    return createFingerprinter(machine, { settleMs, graceMs: settleMs + GRACE_MS, fileLimitBytes });
  }

  /** Applies a valid edit of the configuration. After an invalid one the last valid configuration stays in force. */
  function adopt(next: AgentConfiguration | null): void {
    // Only a comment changed, or nothing.
    if (next === null || isDeepStrictEqual(next, current)) return;
    const previous = current;
    current = next;
    if (next.manifest !== previous.manifest)
      manifest = options.openManifest(next.manifest, () => current.watch.settle_ms);
    if (JSON.stringify(next.watch) !== JSON.stringify(previous.watch)) fingerprinter = startFingerprinter();
    options.onConfiguration(next);
  }

  async function refreshDocuments(settle: boolean): Promise<Unsettled | null> {
    const configurationWaitMs = await configuration.refresh(settle);
    if (configurationWaitMs > 0) return { kind: "unsettled", waitMs: configurationWaitMs, paths: [configuration.path] };
    adopt(configuration.reading.value);
    const manifestWaitMs = await manifest.refresh(settle);
    return manifestWaitMs > 0 ? { kind: "unsettled", waitMs: manifestWaitMs, paths: [manifest.path] } : null;
  }

  function invalidateDocuments(): void {
    configuration.invalidate();
    manifest.invalidate();
  }

  const files = () => listedFiles(current, manifest.reading.value);

  function nameRobot(machineId: string | null): NameParts {
    const parts = { hostname: machine.identity.hostname(), machine: machineId };
    const approved = options.approved();
    isNameApproved = approved !== null;
    nameParts = parts;
    currentName = approved?.robot_name ?? nameWithoutCredential(options.before(), robotName(current, parts));
    return parts;
  }

  async function collectFiles(
    settle: boolean,
    signal: AbortSignal,
    identified: Promise<string | null>,
  ): Promise<Wanted | Unsettled> {
    const { value } = manifest.reading;
    const resolved = value === null ? null : configurationFiles(current, value);
    const [collected, machineId] = await Promise.all([
      resolved?.kind === "files" ? fingerprinter.collect(resolved.files, { settle, signal, ...progress }) : null,
      identified,
    ]);
    const parts = nameRobot(machineId);
    if (resolved?.kind === "finding") {
      ofFiles = [locate(manifest, resolved.finding)];
      return { kind: "invalid" };
    }
    // Without an error finding this is a draft with placeholders, which has no value.
    if (value === null || collected === null) {
      ofFiles = [];
      return { kind: manifest.reading.findings.some(isError) ? "invalid" : "draft" };
    }
    switch (collected.kind) {
      case "unsettled":
        // The findings of the last collect stay until this one has a result.
        return collected;
      case "refused":
        ofFiles = fileFindings(collected.findings, manifest, value.configuration_files);
        return { kind: "invalid" };
      case "snapshot":
        break;
    }
    snapshot = collected.snapshot;
    ofFiles = fileFindings(collected.warnings, manifest, value.configuration_files);
    const nameFinding = isNameApproved ? null : checkName(current, parts);
    if (nameFinding !== null) {
      ofFiles = [...ofFiles, locate(configuration, nameFinding)];
      return { kind: "invalid" };
    }
    if (value.status === "draft") return { kind: "draft" };
    const body = buildRobotSetup(current, value, snapshot.digest, currentName);
    const approved = options.approved();
    return { kind: "body", body: approved === null ? body : asApproved(body, approved) };
  }

  /** False for another hostname since, and for a name without a machine id, which the machine may have by now. */
  function isNameCurrent(): boolean {
    if (nameParts?.hostname !== machine.identity.hostname()) return false;
    return isNameApproved || checkName(current, nameParts) === null;
  }

  /** False when the disk may have been swapped between reading the documents and the files, so that they do not belong together. */
  async function isOneDisk(): Promise<boolean> {
    const areAsRead = await Promise.all([configuration.isAsRead(), manifest.isAsRead()]);
    return !isInvalidated && areAsRead.every(Boolean);
  }

  return {
    /** Before the first collect, for a status until then. */
    async prepareName() {
      nameRobot(await machine.identity.machine());
    },
    /** @param settle false to read the files now, without waiting for writers to finish. */
    async collect(settle: boolean, signal: AbortSignal): Promise<Collection | Unsettled> {
      if (isInvalidated) {
        isInvalidated = false;
        invalidateDocuments();
        fingerprinter.invalidate();
      }
      // Runs while the files are read.
      const identified = machine.identity.machine();
      const unsettled = await refreshDocuments(settle);
      if (unsettled !== null) return unsettled;
      const wanted = await collectFiles(settle, signal, identified);
      if (wanted.kind === "unsettled") return wanted;
      if (wanted.kind === "body" && !(await isOneDisk())) {
        const paths = [configuration.path, manifest.path];
        return { kind: "unsettled", waitMs: Math.max(1, current.watch.settle_ms), paths };
      }
      return { kind: "collected", wanted, machineId: await identified };
    },
    /** True when no collected file has changed since, nor the machine's name. Synchronous stats only, so for local filesystems only. */
    isUnchanged: () =>
      !isInvalidated &&
      isNameCurrent() &&
      configuration.isUnchanged() &&
      manifest.isUnchanged() &&
      fingerprinter.isUnchanged(files()),
    /** Discards all that was read: a collect under way gives no body, and the next one reads everything. */
    invalidate() {
      isInvalidated = true;
    },
    /** As `Fingerprinter.reread`; with `all`, the next collect also reads configuration and manifest again. */
    reread(scope: RereadScope, signal: AbortSignal): Promise<readonly string[]> {
      if (scope === "all") invalidateDocuments();
      return fingerprinter.reread(scope, signal);
    },
    /** The files to watch: configuration, manifest and the listed files. */
    paths: () => [configuration.path, manifest.path, ...files().map(({ path }) => path)],
    /** The configuration in force: the last valid one. */
    get configuration() {
      return current;
    },
    /** null while the manifest has an error. */
    get manifest() {
      return manifest.reading.value;
    },
    get documents() {
      return { configuration, manifest };
    },
    get findings() {
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
