import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { createLook, type LookOptions, type Unsettled } from "../../../src/look/look.ts";
import {
  type ConfigurationFile,
  requestsFor,
  type Snapshot,
  type Taken,
  takeSnapshot,
} from "../../../src/look/snapshot.ts";
import { type Clock, systemClock } from "../../../src/platform/clock.ts";
import { type Files, type FileStat, systemFiles } from "../../../src/platform/files/files.ts";

export const REAL = { files: systemFiles, clock: systemClock };

/** The age after which files of this test count as settled, whatever they hold. */
export const OLD_MS = 120_000;

/** A folder that is removed when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "look-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

type Listed = Omit<ConfigurationFile, "entry">;

/** Looks at configuration files, as the agent does. */
export function lookAround(
  machine: { readonly files: Files; readonly clock: Clock },
  { settleMs = 500, limitBytes = 64 * 1024 * 1024 } = {},
) {
  const look = createLook(machine);
  async function collect(
    list: readonly (string | Listed)[],
    options: Partial<LookOptions> = {},
  ): Promise<Taken | Unsettled> {
    const files = list.map((each, entry) =>
      typeof each === "string" ? { label: each, path: each, entry } : { entry, ...each },
    );
    const looked = await look.at(requestsFor(files, limitBytes), settleMs, { settle: true, ...options });
    return looked.kind === "unsettled" ? looked : takeSnapshot(machine.files, files, looked, limitBytes);
  }
  return { ...look, collect, take: async (...of: Parameters<typeof collect>) => snapshotOf(await collect(...of)) };
}

/** The snapshot of these files as they are now. */
export function snapshotNow(list: readonly (string | Listed)[]): Promise<Snapshot> {
  return lookAround(REAL).take(list, { settle: false });
}

export function snapshotOf(collected: Taken | Unsettled): Snapshot {
  if (collected.kind !== "snapshot") throw new Error(`Expected a snapshot, got ${JSON.stringify(collected)}`);
  return collected.snapshot;
}

/** How long the look asks to wait. */
export function waitOf(collected: Taken | Unsettled): number {
  if (collected.kind !== "unsettled") throw new Error(`Expected an unsettled result, got ${collected.kind}`);
  return collected.waitMs;
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
  /** Bytes that a read gives at most. */
  readonly mostBytes?: number;
}

/** The real disk. Counts opened files and can change something at each call. */
export function meddledFiles(interference: Interference = {}): Files & { opened: string[]; open: number } {
  const { changeStat = (stat: FileStat) => stat, mostBytes = Number.POSITIVE_INFINITY } = interference;
  const meddled = {
    ...systemFiles,
    opened: [] as string[],
    open: 0,
    async stat(path: string) {
      await interference.beforeStat?.(path);
      return changeStat(await systemFiles.stat(path));
    },
    async openForReading(path: string) {
      await interference.beforeOpen?.(path);
      const file = await systemFiles.openForReading(path);
      meddled.opened.push(path);
      meddled.open++;
      return {
        stat: async () => changeStat(await file.stat()),
        async read(buffer: Uint8Array, position: number) {
          await interference.beforeRead?.(path, position);
          const count = await file.read(buffer.subarray(0, Math.min(buffer.byteLength, mostBytes)), position);
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

/** Files that are older than everything that a look waits for, with a manual clock. */
export async function robot(
  contents: Readonly<Record<string, string | Uint8Array>> = { "a.conf": "{}" },
  interference: Interference = {},
) {
  const folder = await temporaryFolder();
  const paths = Object.keys(contents).map((name) => join(folder, name));
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  const clock = new SteppedClock();
  clock.step(OLD_MS);
  const files = meddledFiles(interference);
  const look = lookAround({ files, clock });
  /** The first look, and the one that confirms it. */
  const confirmed = async () => {
    await look.take(paths);
    clock.step(2000);
    return look.take(paths);
  };
  const [path = "", other = "", third = ""] = paths;
  return { folder, paths, path, other, third, clock, files, look, confirmed, collect: () => look.collect(paths) };
}

export type Robot = Awaited<ReturnType<typeof robot>>;
