import { type Disk, DiskError } from "../../../src/installer/disk/disk.ts";
import { openRootedDisk } from "../../../src/installer/disk/rooted-disk.ts";

/** Simulates a killed process: nothing after it runs. */
export class Killed extends Error {
  override readonly name = "Killed";
}

export type Break =
  /** kill -9 or a power cut at change number `at`; a file being written stays half written. */
  | { readonly kind: "killed"; readonly at: number }
  /** Only change number `at` fails. */
  | { readonly kind: "failing"; readonly at: number; readonly code: string };

export interface BreakingDisk {
  readonly openDisk: (root: string) => Promise<Disk & AsyncDisposable>;
  /** Changes so far. */
  count(): number;
}

/** A disk that breaks at one change of `image`. Other roots, such as `/`, do not break. */
export function breakingDisk(image: string, broken: Break | null): BreakingDisk {
  let count = 0;
  let isKilled = false;

  async function change<T>(
    path: string,
    work: () => Promise<T>,
    half: () => Promise<unknown> = async () => {},
  ): Promise<T> {
    if (isKilled) throw new Killed();
    const number = count;
    count += 1;
    if (number !== broken?.at) return work();
    if (broken.kind === "failing") throw new DiskError(broken.code, path);
    isKilled = true;
    await half();
    throw new Killed();
  }

  return {
    count: () => count,
    async openDisk(root) {
      const disk = await openRootedDisk(root);
      if (root !== image) return disk;
      return {
        ...disk,
        makeDirectory: (path, access) => change(path, () => disk.makeDirectory(path, access)),
        create: (path, content, access) =>
          change(
            path,
            () => disk.create(path, content, access),
            () => disk.create(path, [Buffer.from("half")], access),
          ),
        setAccess: (path, access) => change(path, () => disk.setAccess(path, access)),
        makeSymbolicLink: (path, target) => change(path, () => disk.makeSymbolicLink(path, target)),
        rename: (from, to) => change(to, () => disk.rename(from, to)),
        remove: (path) => change(path, () => disk.remove(path)),
        removeDirectory: (path) => change(path, () => disk.removeDirectory(path)),
        removeTree: (path) => change(path, () => disk.removeTree(path)),
        syncDirectory: (path) => change(path, () => disk.syncDirectory(path)),
      };
    },
  };
}
