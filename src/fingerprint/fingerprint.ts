/**
 * Fingerprint: what the configuration files of a robot hold, as one digest.
 *
 * A snapshot is a consistent cut: there was a moment at which every file held exactly the bytes that were hashed. (Of files that never
 * hold still each has a moment of its own.) Files that are being written are waited for, files that did not change are not read again, and whatever cannot be hashed is a finding
 * that names the path and the remedy. `digest.ts` is the definition of the digest and `explain.ts` shows it to people.
 */
import type { Clock } from "../platform/clock.ts";
import type { FileStat, Files } from "../platform/files/files.ts";
import { configurationDigest } from "./digest.ts";
import type { FileFinding, Trouble } from "./findings.ts";
import { heldOpen, restless, systemTrouble, unparseable, unstable, unsuitable } from "./findings.ts";
import { HELD_OPEN_LIMIT_MS, createHeldOpen } from "./held-open.ts";
import type { CollectOptions, Cut } from "./reading.ts";
import { createCut, hashOf, readMissing } from "./reading.ts";
import { findMisjudged } from "./rereading.ts";
import type { SettlingLimits } from "./settling.ts";
import { createSettling, stillMs } from "./settling.ts";
import { RACY_MS, createSightings, sameView, viewNow } from "./sightings.ts";
import type { ConfigurationFile, FileFingerprint, Snapshot } from "./snapshot.ts";
import { createStatCache } from "./stat-cache.ts";

export type Collected =
  | { readonly kind: "snapshot"; readonly snapshot: Snapshot; readonly warnings: readonly FileFinding[] }
  /** Something is being written. The truth is not in yet; come back after `wait_ms`. */
  | { readonly kind: "unsettled"; readonly wait_ms: number; readonly paths: readonly string[] }
  /** There is no digest; the last registration stands. */
  | { readonly kind: "refused"; readonly findings: readonly FileFinding[] };

export interface FingerprintLimits extends SettlingLimits {
  /** Of one file. */
  readonly fileLimitBytes: number;
}

/** The files to read again: those that this process took over from an earlier one and never read, or every file. */
export type RereadScope = "inherited" | "all";

export interface Fingerprinter {
  /**
   * Takes over what an earlier process hashed and registered. As long as every file still has its stat, that is what the files hold;
   * once one has not, all are read: no digest is made of what another process read, perhaps before the disk was swapped.
   */
  remember(files: readonly FileFingerprint[]): void;
  /**
   * One consistent cut of the files, reading only what changed. Not to be called again before it resolved.
   *
   * @throws `options.signal.reason` when the signal aborts.
   */
  collect(files: readonly ConfigurationFile[], options: CollectOptions): Promise<Collected>;
  /**
   * True when every file is as in the last snapshot. One synchronous stat per file and nothing else: no thread, no read.
   * For local filesystems only, where a stat cannot hang.
   */
  holds(files: readonly ConfigurationFile[]): boolean;
  /** Forgets what was hashed: a look at the stats says nothing any more, and the next `collect` reads every file. */
  distrust(): void;
  /**
   * Reads files whose stat says that they are as they were, slowly, beside everything else. The next `collect` reads what proved wrong.
   *
   * @returns the paths of the files that hold something else than their stat says.
   * @throws `signal.reason` when the signal aborts.
   */
  reread(scope: RereadScope, signal: AbortSignal): Promise<readonly string[]>;
}

/** Looks, pauses and rereads within one collect, before files count as unstable. */
const MAX_ROUNDS = 8;

export function createFingerprinter(
  machine: { readonly files: Files; readonly clock: Clock },
  limits: FingerprintLimits,
): Fingerprinter {
  const { files: disk, clock } = machine;
  const sightings = createSightings(machine);
  const settling = createSettling(clock, limits);
  const holders = createHeldOpen(machine);
  const cache = createStatCache();
  const state = { disk, sightings, cache, limitBytes: limits.fileLimitBytes };
  let last: readonly FileFingerprint[] | undefined;

  const isSuitable = (path: string, stat: FileStat) => unsuitable(path, stat, limits.fileLimitBytes) === undefined;

  /**
   * Looks for programs that have changed files open: at the first sight of a change, when most have closed them already, and where they had
   * not, or went on writing, once the file holds still.
   */
  async function lookForWriters(paths: readonly string[], cut: Cut, signal: AbortSignal | undefined): Promise<void> {
    const targets = new Map<string, FileStat>();
    for (const path of paths) {
      const view = sightings.view(path);
      if (view?.kind !== "seen" || !isSuitable(path, view.stat)) continue;
      const quietMs = sightings.quietMs(path);
      if (quietMs < stillMs(limits) && settling.isUnsettled(path)) continue;
      const isChanged = hashOf(state, cut, path) === undefined && holders.isUnknown(path, view.stat);
      const isHeld = holders.holder(path) !== undefined;
      if (isHeld || (isChanged && quietMs < HELD_OPEN_LIMIT_MS)) targets.set(path, view.stat);
    }
    if (targets.size === 0) return;
    await holders.look(targets);
    // Only what still is as before that look was not written by somebody who closed it meanwhile.
    await sightings.look(paths, signal);
  }

  /** Files that are still being written, or undefined when all hold still or were waited for long enough. */
  function waitForRest(paths: readonly string[], cut: Cut): Collected | undefined {
    return unsettled(paths, (path) => {
      const view = sightings.view(path);
      if (view?.kind === "hidden") settling.clear(path);
      const isKnown = hashOf(state, cut, path) !== undefined;
      const isHopeless = view?.kind === "seen" && !isSuitable(path, view.stat);
      if (isKnown || isHopeless) return 0;
      const unrestMs = settling.unrestMs(path, sightings.quietMs(path));
      if (unrestMs > 0 || view?.kind !== "seen") return unrestMs;
      return holders.waitMs(path, view.stat);
    });
  }

  /** Files that hold still but look half-written. */
  function waitForSense(paths: readonly string[], cut: Cut): Collected | undefined {
    return unsettled(paths, (path) => {
      const hashed = hashOf(state, cut, path);
      if (hashed?.suspect === true) return settling.suspicionMs(path, hashed.sha256, sightings.quietMs(path));
      settling.clear(path);
      return 0;
    });
  }

  /** How long to pause so that the timestamps of files that must be read now can tell the next write from the last one. */
  function breathMs(paths: readonly string[], cut: Cut): number {
    const pauses = paths.map((path) => {
      const view = sightings.view(path);
      if (view?.kind !== "seen" || !isSuitable(path, view.stat)) return 0;
      return hashOf(state, cut, path) === undefined ? RACY_MS + 1 - sightings.quietMs(path) : 0;
    });
    return Math.ceil(Math.max(0, ...pauses));
  }

  const stands = ({ path, stat }: FileFingerprint) => sameView(viewNow(disk, path), { kind: "seen", stat });

  async function troublesOf(paths: readonly string[]): Promise<readonly Trouble[]> {
    const troubles = await Promise.all(
      paths.map(async (path) => {
        const view = sightings.view(path);
        if (view?.kind === "hidden") return systemTrouble(disk, path, view.code);
        return view === undefined ? undefined : unsuitable(path, view.stat, limits.fileLimitBytes);
      }),
    );
    return troubles.filter((trouble) => trouble !== undefined);
  }

  function conclude(files: readonly ConfigurationFile[], cut: Cut): Collected {
    const warnings: Trouble[] = [];
    const fingerprints = files.map(({ label, path }): FileFingerprint => {
      const hashed = hashOf(state, cut, path);
      if (hashed === undefined) throw new Error(`${path} has no hash in its own snapshot`);
      const { sha256, bytes, stat, trusted, suspect } = hashed;
      if (suspect) warnings.push(unparseable(path, bytes === 0));
      else settling.clear(path);
      const holder = holders.holder(path);
      if (hashed.ofOneMoment || settling.isRestless(path)) warnings.push(restless(path));
      else if (holder !== undefined) warnings.push(heldOpen(path, holder));
      settling.accept(path, sha256);
      return { label, path, sha256, bytes, stat, trusted, suspect };
    });
    for (const { path } of files) settling.restart(path);
    last = fingerprints;
    const digest = configurationDigest(fingerprints.map(({ sha256 }) => sha256));
    return {
      kind: "snapshot",
      snapshot: { digest, files: fingerprints, read_bytes: cut.readBytes },
      warnings: atIndex(warnings, files),
    };
  }

  return {
    remember(files) {
      if (files.length === 0) return;
      cache.remember(files);
      for (const { path, sha256 } of files) settling.accept(path, sha256);
      last = files;
    },

    async collect(files, options) {
      const { settle, signal } = options;
      const paths = [...new Set(files.map(({ path }) => path))];
      for (const memory of [sightings, settling, holders, cache]) memory.retain(new Set(paths));
      const cut = createCut();
      const wait = (waiting: typeof waitForRest) => (settle ? waiting(paths, cut) : undefined);

      settling.resume(sightings.unwatchedMs());
      await sightings.look(paths, signal);
      if (settle) await lookForWriters(paths, cut, signal);
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (paths.some((path) => hashOf(state, cut, path) === undefined)) cache.disinherit();
        const unsettledFiles = wait(waitForRest);
        if (unsettledFiles !== undefined) return unsettledFiles;

        const pauseMs = breathMs(paths, cut);
        if (pauseMs === 0) {
          const reading = await readMissing(state, cut, paths, options);
          const troubles = [...(await troublesOf(paths)), ...reading.troubles];
          if (troubles.length > 0) {
            for (const path of paths) settling.restart(path);
            return { kind: "refused", findings: atIndex(troubles, files) };
          }
          if (!reading.hasRead) return wait(waitForSense) ?? conclude(files, cut);
        } else {
          await clock.sleep(pauseMs, signal);
        }
        // Every hash was taken before this look, so if every file still is as hashed, they all were at this moment.
        await sightings.look(paths, signal);
      }
      const unsettledFiles = wait(waitForRest);
      if (unsettledFiles !== undefined) return unsettledFiles;
      // Whoever writes without end must not keep the changes of the other files from being registered.
      const isWritten = (path: string) => sightings.quietMs(path) < stillMs(limits);
      const { troubles } = await readMissing(state, cut, paths, options, isWritten);
      await sightings.look(paths, signal);
      const moved = paths.filter((path) => hashOf(state, cut, path) === undefined);
      if (moved.length === 0) return conclude(files, cut);
      for (const path of moved) settling.restart(path);
      return { kind: "refused", findings: atIndex(troubles.length > 0 ? troubles : moved.map(unstable), files) };
    },

    holds(files) {
      if (last === undefined || last.length !== files.length) return false;
      return last.every(
        (known, index) =>
          known.path === files[index]?.path &&
          known.trusted &&
          holders.holder(known.path) === undefined &&
          stands(known),
      );
    },

    distrust() {
      cache.clear();
      last = undefined;
    },

    async reread(scope, signal) {
      const known = [...cache.entries()].filter(([, { inherited }]) => inherited || scope === "all");
      const { misjudged, moved } = await findMisjudged(machine, known, signal);
      for (const [path, hashed] of known) cache.confirm(path, hashed);
      for (const path of [...misjudged, ...moved]) cache.forget(path);
      if (misjudged.length > 0) last = undefined;
      return misjudged;
    },
  };
}

function unsettled(paths: readonly string[], waitMs: (path: string) => number): Collected | undefined {
  const waits = paths.map((path) => ({ path, waitMs: Math.ceil(waitMs(path)) })).filter((wait) => wait.waitMs > 0);
  if (waits.length === 0) return undefined;
  return {
    kind: "unsettled",
    wait_ms: Math.max(...waits.map((wait) => wait.waitMs)),
    paths: waits.map(({ path }) => path),
  };
}

/** Each finding at every place of the list that names its path, in the order of the list. */
function atIndex(troubles: readonly Trouble[], files: readonly ConfigurationFile[]): readonly FileFinding[] {
  const findings: FileFinding[] = [];
  for (const [index, { path }] of files.entries()) {
    for (const trouble of troubles) if (trouble.path === path) findings.push({ ...trouble, index });
  }
  return findings;
}
