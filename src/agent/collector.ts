import { isDeepStrictEqual } from "node:util";

import type { Fingerprinter, RereadScope } from "../fingerprint/fingerprint.ts";
import { createFingerprinter } from "../fingerprint/fingerprint.ts";
import type { ConfigurationFile, Snapshot } from "../fingerprint/snapshot.ts";
import type { Finding } from "../manifest/finding.ts";
import type { RobotManifest } from "../manifest/manifest.ts";
import type { Machine } from "../platform/machine.ts";
import type { AgentConfiguration } from "./configuration/configuration.ts";
import type { DocumentInput } from "./configuration/document-input.ts";
import type { Wanted } from "./decide.ts";
import type { LocatedFinding } from "./findings.ts";
import { documentFindings, fileFindings, locate } from "./findings.ts";
import type { Registration } from "./registration/registration.ts";
import { buildRobotSetup, checkName, configurationFiles, robotName } from "./robot-setup.ts";

/** Files are being written; come back after `wait_ms`. */
export interface Unsettled {
  readonly kind: "unsettled";
  readonly wait_ms: number;
  readonly paths: readonly string[];
}

/** What should be registered, and the machine that it was said on. */
export interface Collection {
  readonly kind: "collected";
  readonly wanted: Wanted;
  readonly machine_id: string | null;
}

/** The first half of a run: configuration, manifest and configuration files become the body to register, or findings. */
export interface Collector {
  /** @param settle false for a look at what is there without waiting for writers. */
  collect(settle: boolean, signal: AbortSignal): Promise<Collection | Unsettled>;
  /** True when nothing that was collected has moved since: synchronous stats only. Local filesystems only. */
  holds(): boolean;
  /** Nothing that was read counts any more: a collect under way comes to nothing, and the next one reads everything. */
  distrust(): void;
  /** Reads again what seems unchanged, as `Fingerprinter.reread` does; with `all`, the next collect reads the two documents too. */
  reread(scope: RereadScope, signal: AbortSignal): Promise<readonly string[]>;
  /** Files whose change calls for another look. */
  paths(): readonly string[];
  /** The configuration in force: the last good one. */
  readonly configuration: AgentConfiguration;
  /** null while the manifest has an error. */
  readonly manifest: RobotManifest | null;
  readonly documents: {
    readonly configuration: DocumentInput<AgentConfiguration>;
    readonly manifest: DocumentInput<RobotManifest>;
  };
  readonly findings: readonly LocatedFinding[];
  /** The last consistent cut. */
  readonly snapshot: Snapshot | null;
  readonly robotName: string;
}

export interface CollectorOptions {
  readonly machine: Machine;
  readonly configuration: DocumentInput<AgentConfiguration>;
  /** The configuration to start with, read without errors. */
  readonly initial: AgentConfiguration;
  /** What an earlier process left; null where nothing is to be taken over from it. */
  readonly registration: Registration | null;
  openManifest(path: string, settleMs: () => number): DocumentInput<RobotManifest>;
  /** The configuration in force is another one now. */
  onConfiguration(configuration: AgentConfiguration): void;
  /** How far hashing is. */
  onProgress?(doneBytes: number, totalBytes: number): void;
}

/** How long an in-place writer may take from the first byte to the last. */
const GRACE_MS = 10_000;

function isError({ severity }: Finding): boolean {
  return severity === "error";
}

export function createCollector(options: CollectorOptions): Collector {
  const { machine, configuration } = options;
  const progress = options.onProgress === undefined ? {} : { onProgress: options.onProgress };
  let current = options.initial;
  let manifest = options.openManifest(current.manifest, () => current.watch.settle_ms);
  let fingerprinter = startFingerprinter();
  fingerprinter.remember(options.registration?.files ?? []);
  let snapshot: Snapshot | null = null;
  let ofFiles: readonly LocatedFinding[] = [];
  let currentName = current.robot.name;
  let isDistrusted = false;

  function startFingerprinter(): Fingerprinter {
    const { settle_ms: settleMs, file_limit_bytes: fileLimitBytes } = current.watch;
    return createFingerprinter(machine, { settleMs, graceMs: settleMs + GRACE_MS, fileLimitBytes });
  }

  /** Takes over a good edit of the configuration; of a bad one only the findings are shown and the last good one stays. */
  function adopt(next: AgentConfiguration | null): void {
    // A comment is no other configuration.
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
    if (configurationWaitMs > 0)
      return { kind: "unsettled", wait_ms: configurationWaitMs, paths: [configuration.path] };
    adopt(configuration.reading.value);
    const manifestWaitMs = await manifest.refresh(settle);
    return manifestWaitMs > 0 ? { kind: "unsettled", wait_ms: manifestWaitMs, paths: [manifest.path] } : null;
  }

  function distrustDocuments(): void {
    configuration.distrust();
    manifest.distrust();
  }

  function listedFiles(): readonly ConfigurationFile[] {
    const { value } = manifest.reading;
    const resolved = value === null ? null : configurationFiles(current, value);
    return resolved?.kind === "files" ? resolved.files : [];
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
    const parts = { hostname: machine.identity.hostname(), machine: machineId };
    currentName = robotName(current, parts);
    if (resolved?.kind === "finding") {
      ofFiles = [locate(manifest, resolved.finding)];
      return { kind: "invalid" };
    }
    // Without an error, a draft whose placeholders keep it from being read to its end.
    if (value === null || collected === null) {
      ofFiles = [];
      return { kind: manifest.reading.findings.some(isError) ? "invalid" : "draft" };
    }
    switch (collected.kind) {
      case "unsettled":
        // What was found the last time stands until there is news.
        return collected;
      case "refused":
        ofFiles = fileFindings(collected.findings, manifest, value.configuration_files);
        return { kind: "invalid" };
      case "snapshot":
        break;
    }
    snapshot = collected.snapshot;
    ofFiles = fileFindings(collected.warnings, manifest, value.configuration_files);
    const nameFinding = checkName(current, parts);
    if (nameFinding !== null) {
      ofFiles = [...ofFiles, locate(configuration, nameFinding)];
      return { kind: "invalid" };
    }
    if (value.status === "draft") return { kind: "draft" };
    return { kind: "body", body: buildRobotSetup(current, value, snapshot.digest, currentName) };
  }

  /** False where files and documents were not read of the same disk: together they may say what never was. */
  async function isOneDisk(): Promise<boolean> {
    const areAsRead = await Promise.all([configuration.isAsRead(), manifest.isAsRead()]);
    return !isDistrusted && areAsRead.every(Boolean);
  }

  return {
    async collect(settle, signal) {
      if (isDistrusted) {
        isDistrusted = false;
        distrustDocuments();
        fingerprinter.distrust();
      }
      // Read beside everything else.
      const identified = machine.identity.machine();
      const unsettled = await refreshDocuments(settle);
      if (unsettled !== null) return unsettled;
      const wanted = await collectFiles(settle, signal, identified);
      if (wanted.kind === "unsettled") return wanted;
      if (wanted.kind === "body" && !(await isOneDisk())) {
        const paths = [configuration.path, manifest.path];
        return { kind: "unsettled", wait_ms: Math.max(1, current.watch.settle_ms), paths };
      }
      return { kind: "collected", wanted, machine_id: await identified };
    },
    holds: () => !isDistrusted && configuration.holds() && manifest.holds() && fingerprinter.holds(listedFiles()),
    distrust() {
      isDistrusted = true;
    },
    reread(scope, signal) {
      if (scope === "all") distrustDocuments();
      return fingerprinter.reread(scope, signal);
    },
    paths: () => [configuration.path, manifest.path, ...listedFiles().map(({ path }) => path)],
    get configuration() {
      return current;
    },
    get manifest() {
      return manifest.reading.value;
    },
    get documents() {
      return { configuration, manifest };
    },
    get findings() {
      return [...documentFindings(configuration), ...documentFindings(manifest), ...ofFiles];
    },
    get snapshot() {
      return snapshot;
    },
    get robotName() {
      return currentName;
    },
  };
}
