import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { type Collected, createFingerprinter } from "../../../src/fingerprint/fingerprint.ts";
import type { ConfigurationFile, Snapshot } from "../../../src/fingerprint/snapshot.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { type Files, type FileStat, systemFiles } from "../../../src/platform/files/files.ts";

export const REAL = { files: systemFiles, clock: systemClock };

export const LIMITS = { settleMs: 500, graceMs: 10_000, fileLimitBytes: 64 * 1024 * 1024 };

/** A folder that is removed when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "fingerprint-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function listed(...paths: readonly string[]): readonly ConfigurationFile[] {
  return paths.map((path) => ({ label: path, path }));
}

export function snapshotOf(collected: Collected): Snapshot {
  if (collected.kind !== "snapshot") throw new Error(`Expected a snapshot, got ${JSON.stringify(collected)}`);
  return collected.snapshot;
}

/** Both clocks, advanced by the test and by sleeping. They start at the real time, so that files created now count as new. */
export class SteppedClock implements Clock {
  // Not at a whole second: such a timestamp indicates a filesystem without fractions.
  #wall_ms = Date.now() + 0.5;
  #monotonic_ms = 1000;
  readonly sleepsMs: number[] = [];
  wallMs = () => this.#wall_ms;
  monotonicMs = () => this.#monotonic_ms;
  sleep = async (durationMs: number) => {
    this.sleepsMs.push(durationMs);
    this.step(durationMs);
  };
  step(durationMs: number): void {
    this.#wall_ms += durationMs;
    this.#monotonic_ms += durationMs;
  }
  /** Changes the wall clock. */
  setWall(wallMs: number): void {
    this.#wall_ms = wallMs;
  }
}

/** A change of the disk between two system calls of the program. */
export interface Interference {
  beforeStat?(path: string): Promise<void> | void;
  beforeOpen?(path: string): Promise<void> | void;
  beforeRead?(path: string, position: number): Promise<void> | void;
  onRead?(path: string, count: number): void;
  changeStat?(stat: FileStat): FileStat;
}

/** The real disk. Counts opened files and can change something at each call. */
export function meddledFiles(
  interference: Interference = {},
): Files & { opened: string[]; open: number; mostOpen: number } {
  const changeStat = interference.changeStat ?? ((stat: FileStat) => stat);
  const meddled = {
    ...systemFiles,
    opened: [] as string[],
    open: 0,
    mostOpen: 0,
    async stat(path: string) {
      await interference.beforeStat?.(path);
      return changeStat(await systemFiles.stat(path));
    },
    statNow: (path: string) => changeStat(systemFiles.statNow(path)),
    async openForReading(path: string) {
      await interference.beforeOpen?.(path);
      const file = await systemFiles.openForReading(path);
      meddled.opened.push(path);
      meddled.mostOpen = Math.max(meddled.mostOpen, ++meddled.open);
      return {
        stat: async () => changeStat(await file.stat()),
        async read(buffer: Uint8Array, position: number) {
          await interference.beforeRead?.(path, position);
          const count = await file.read(buffer, position);
          interference.onRead?.(path, count);
          return count;
        },
        async close() {
          meddled.open--;
          await file.close();
        },
      };
    },
  };
  return meddled;
}

/** A robot whose files settled a minute ago, with a manual clock. */
export async function robot(names: readonly string[] = ["a.conf"], content = "{}") {
  const folder = await temporaryFolder();
  const paths = names.map((name) => join(folder, name));
  for (const path of paths) await writeFile(path, content);
  const clock = new SteppedClock();
  clock.step(60_000);
  /** Difference between the machine's time and the manual clock, by inode. */
  const shiftsNs = new Map<bigint, bigint>();
  const changeStat = (stat: FileStat): FileStat => {
    const shiftNs = shiftsNs.get(stat.inode) ?? 0n;
    return { ...stat, mtimeNs: stat.mtimeNs + shiftNs, ctimeNs: stat.ctimeNs + shiftNs };
  };
  const files = meddledFiles({ changeStat });
  const fingerprinter = createFingerprinter({ files, clock }, LIMITS);
  const collect = () => fingerprinter.collect(listed(...paths), { settle: true });
  /** Advances the clock to `ageMs` after the last write of the file. */
  const passSince = async (path: string, ageMs: number) => {
    const { inode, mtimeNs, ctimeNs } = await systemFiles.stat(path);
    const writtenNs = BigInt(Math.round(clock.wallMs() * 1e6));
    shiftsNs.set(inode, writtenNs - (mtimeNs > ctimeNs ? mtimeNs : ctimeNs));
    clock.step(ageMs);
  };
  return { folder, paths, path: paths[0]!, clock, files, fingerprinter, collect, passSince };
}

/** How long the collect asks to wait. */
export function waitOf(collected: Collected): number {
  if (collected.kind !== "unsettled") throw new Error(`Expected an unsettled result, got ${collected.kind}`);
  return collected.waitMs;
}
