/**
 * Fingerprint: the content of a robot's configuration files as one digest.
 *
 * A snapshot is a consistent cut: at one moment every file held exactly the bytes that were hashed. (A file that changes all the time
 * has a moment of its own.) The fingerprinter waits for files that are being written and does not read unchanged files again. What
 * cannot be hashed becomes a finding with the path and the remedy. `digest.ts` defines the digest, `explain.ts` explains it.
 */
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files/files.ts";
import { configurationDigest } from "./digest.ts";
import {
  type FileFinding,
  heldOpen,
  type PathFinding,
  restless,
  systemErrorFinding,
  unparseable,
  unstable,
  unsuitable,
} from "./findings.ts";
import { createHeldOpen } from "./held-open.ts";
import { type CollectOptions, createCut, type Cut, hashOf, readMissing } from "./reading.ts";
import { filesInScope, findMismatched, type RereadScope } from "./rereading.ts";
import { createSettling, type SettlingLimits, stillMs } from "./settling.ts";
import { createObservations, sameView, viewNow } from "./observations.ts";
import type { ConfigurationFile, FileFingerprint, Snapshot } from "./snapshot.ts";
import { createStatCache } from "./stat-cache.ts";
import { createWaiting, type Unsettled } from "./waiting.ts";

export type Collected =
  | { readonly kind: "snapshot"; readonly snapshot: Snapshot; readonly warnings: readonly FileFinding[] }
  | Unsettled
  /** There is no digest; the last registration stands. */
  | { readonly kind: "refused"; readonly findings: readonly FileFinding[] };

export interface FingerprintLimits extends SettlingLimits {
  /** Of one file. */
  readonly fileLimitBytes: number;
}

export type Fingerprinter = ReturnType<typeof createFingerprinter>;

/** Attempts within one collect, before files count as unstable. */
const MAX_ROUNDS = 8;

export function createFingerprinter(
  machine: { readonly files: Files; readonly clock: Clock },
  limits: FingerprintLimits,
) {
  const { files: disk, clock } = machine;
  const observations = createObservations(machine);
  const settling = createSettling(clock, limits);
  const holders = createHeldOpen(machine);
  const cache = createStatCache();
  const memory = { disk, observations, cache, limitBytes: limits.fileLimitBytes };
  const waiting = createWaiting({ memory, settling, holders, limits });
  let last: readonly FileFingerprint[] | undefined;

  const isStatUnchanged = ({ path, stat }: FileFingerprint) => sameView(viewNow(disk, path), { kind: "seen", stat });

  async function unreadableFindings(paths: readonly string[]): Promise<readonly PathFinding[]> {
    const pathFindings = await Promise.all(
      paths.map(async (path) => {
        const view = observations.view(path);
        if (view?.kind === "hidden") return systemErrorFinding(disk, path, view.code);
        return view === undefined ? undefined : unsuitable(path, view.stat, limits.fileLimitBytes);
      }),
    );
    return pathFindings.filter((finding) => finding !== undefined);
  }

  function conclude(files: readonly ConfigurationFile[], cut: Cut): Collected {
    const warnings: PathFinding[] = [];
    const fingerprints = files.map(({ label, path }): FileFingerprint => {
      const hashed = hashOf(memory, cut, path);
      if (hashed === undefined) throw new Error(`${path} has no hash in its own snapshot`);
      const { sha256, bytes, stat, trusted } = hashed;
      const suspect = hashed.suspect || settling.isEmptied(path, hashed);
      if (suspect) warnings.push(unparseable(path, bytes === 0));
      else settling.clear(path);
      const holder = holders.holder(path);
      if (hashed.ofOneMoment || settling.isRestless(path)) warnings.push(restless(path));
      else if (holder !== undefined) warnings.push(heldOpen(path, holder));
      settling.accept(path, { sha256, bytes, suspect });
      return { label, path, sha256, bytes, stat, trusted, suspect };
    });
    for (const { path } of files) settling.restart(path);
    last = fingerprints;
    const digest = configurationDigest(fingerprints.map(({ sha256 }) => sha256));
    return {
      kind: "snapshot",
      snapshot: { digest, files: fingerprints, readBytes: cut.readBytes },
      warnings: atIndex(warnings, files),
    };
  }

  return {
    /**
     * Adopts the hashes of an earlier process. They count as long as every file still has its stat. When one file changed, all are read:
     * a digest never mixes in what another process read, perhaps from another disk.
     */
    remember(files: readonly FileFingerprint[]) {
      if (files.length === 0) return;
      cache.remember(files);
      for (const file of files) settling.accept(file.path, file);
      last = files;
    },

    /**
     * Takes one consistent cut of the files and reads only what changed. Do not call it again before it resolves.
     *
     * @throws `options.signal.reason` when the signal aborts.
     */
    async collect(files: readonly ConfigurationFile[], options: CollectOptions): Promise<Collected> {
      const { settle, signal } = options;
      const paths = [...new Set(files.map(({ path }) => path))];
      for (const each of [observations, settling, holders, cache]) each.retain(new Set(paths));
      const cut = createCut();
      const stillChanging = () => (settle ? waiting.stillChanging(paths, cut) : undefined);
      const stillIncomplete = () => (settle ? waiting.stillIncomplete(paths, cut) : undefined);

      settling.resume(observations.unwatchedMs());
      await observations.look(paths, signal);
      if (settle) await waiting.lookForWriters(paths, cut, signal);
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (paths.some((path) => hashOf(memory, cut, path) === undefined)) cache.dropInherited();
        const unsettledFiles = stillChanging();
        if (unsettledFiles !== undefined) return unsettledFiles;

        const pauseMs = waiting.racyPauseMs(paths, cut);
        if (pauseMs === 0) {
          const reading = await readMissing(memory, cut, paths, options);
          const pathFindings = [...(await unreadableFindings(paths)), ...reading.pathFindings];
          if (pathFindings.length > 0) {
            for (const path of paths) settling.restart(path);
            return { kind: "refused", findings: atIndex(pathFindings, files) };
          }
          if (!reading.hasRead) return stillIncomplete() ?? conclude(files, cut);
        } else {
          await clock.sleep(pauseMs, signal);
        }
        // Every hash is older than this look. If every stat is still the same, all files had the hashed content at this moment.
        await observations.look(paths, signal);
      }
      const unsettledFiles = stillChanging();
      if (unsettledFiles !== undefined) return unsettledFiles;
      // A file that is written all the time must not keep changes of the other files from being registered.
      const isWritten = (path: string) => observations.quietMs(path) < stillMs(limits);
      const { pathFindings } = await readMissing(memory, cut, paths, options, isWritten);
      await observations.look(paths, signal);
      const moved = paths.filter((path) => hashOf(memory, cut, path) === undefined);
      if (moved.length === 0) return conclude(files, cut);
      for (const path of moved) settling.restart(path);
      return {
        kind: "refused",
        findings: atIndex(pathFindings.length > 0 ? pathFindings : moved.map(unstable), files),
      };
    },

    /**
     * True when every file is as in the last snapshot. Costs one synchronous stat per file. For local filesystems only, where a stat
     * cannot hang.
     */
    isUnchanged(files: readonly ConfigurationFile[]): boolean {
      if (last === undefined || last.length !== files.length) return false;
      return last.every(
        (known, index) =>
          known.path === files[index]?.path &&
          known.trusted &&
          holders.holder(known.path) === undefined &&
          isStatUnchanged(known),
      );
    },

    /** Forgets all hashes, so that the next `collect` reads every file. */
    invalidate() {
      cache.clear();
      last = undefined;
    },

    /**
     * Reads files slowly in the background although their stat did not change. The next `collect` reads those whose content changed.
     *
     * @returns the paths of the files whose content changed although their stat did not.
     * @throws `signal.reason` when the signal aborts.
     */
    async reread(scope: RereadScope, signal: AbortSignal): Promise<readonly string[]> {
      const known = filesInScope(scope, cache.entries());
      const { mismatched, moved } = await findMismatched(machine, known, signal);
      for (const [path, hashed] of known) cache.confirm(path, hashed);
      for (const path of [...mismatched, ...moved]) cache.forget(path);
      if (mismatched.length > 0) last = undefined;
      return mismatched;
    },
  };
}

/** One finding per entry of the list that names its path, in the order of the list. */
function atIndex(pathFindings: readonly PathFinding[], files: readonly ConfigurationFile[]): readonly FileFinding[] {
  const findings: FileFinding[] = [];
  for (const [index, { path }] of files.entries()) {
    for (const finding of pathFindings) if (finding.path === path) findings.push({ ...finding, index });
  }
  return findings;
}
