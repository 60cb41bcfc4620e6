import { errorCode, type Files, type FileStat, type ReadableFile } from "../../../src/platform/files/files.ts";
import type { Dice } from "../dice.ts";
import type { Process, Scheduler } from "../scheduler.ts";
import type { Trace } from "../trace.ts";
import { type Disk, type Inode, systemError } from "./disk.ts";

/** Current faults of the disk. */
export interface DiskTrouble {
  state: "none" | "full" | "read-only";
  /** Probability that an operation fails with EIO. */
  ioErrorRate: number;
  /** Maximum duration of an operation. */
  latencyMs: number;
  /** The disk claims to sync and does not. */
  lies: boolean;
}

export interface SimulatedFilesOptions {
  readonly disk: Disk;
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly trouble: DiskTrouble;
  readonly process: Process;
  /** User of the process. */
  readonly userId: number;
  /** Folders on a filesystem without change events. */
  readonly silentFolders: readonly string[];
  /** Called when the program opens a file, so that an actor can write it during the read. */
  onOpen(path: string): void;
  /** Called before each change of the disk. */
  onWrite(operation: WriteOperation, path: string): void;
  /** Called for an injected error. */
  onTrouble(): void;
}

export type WriteOperation = "create" | "write" | "sync" | "rename" | "remove" | "sync-directory" | "make-directory";

/** Probability of a short read, as from a slow disk or after a signal. */
const SHORT_READ_BYTES = 96;

/** The disk as seen by one process: every operation takes time, during which others may write. */
export function createSimulatedFiles(options: SimulatedFilesOptions): Files {
  const { disk, scheduler, dice, trace, trouble, process } = options;

  const latency = () => dice.between(0.01, trouble.latencyMs);

  function note(text: string): void {
    trace.note(scheduler.nowMs, text);
  }

  /** Runs `effect` after a delay, and returns to the program at once or after another delay. */
  function operate<T>(label: string, effect: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      scheduler.after(latency(), process, `#${process.id} ${label}`, () => {
        const settle = attempt(effect, resolve, reject);
        if (dice.chance(0.7)) settle();
        else scheduler.after(latency(), process, `#${process.id} ${label} returns`, settle);
      });
    });
  }

  function attempt<T>(effect: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): () => void {
    try {
      failSometimes();
      const value = effect();
      return () => resolve(value);
    } catch (error) {
      note(`  ${errorCode(error) ?? String(error)}`);
      return () => reject(error);
    }
  }

  function failSometimes(): void {
    if (trouble.ioErrorRate === 0 || !dice.chance(trouble.ioErrorRate)) return;
    options.onTrouble();
    throw systemError("EIO", "disk");
  }

  /** @param needsSpace whether the operation allocates disk blocks. */
  function beforeWrite(operation: WriteOperation, path: string, needsSpace: boolean): void {
    if (trouble.state === "read-only") throw systemError("EROFS", path);
    if (trouble.state === "full" && needsSpace) throw systemError("ENOSPC", path);
    options.onWrite(operation, path);
  }

  function describe(inode: Inode): FileStat {
    return {
      kind: inode.kind,
      device: 1n,
      inode: BigInt(inode.number),
      sizeBytes: inode.kind === "link" ? inode.target.length : inode.bytes.byteLength,
      mtimeNs: inode.mtimeNs,
      ctimeNs: inode.ctimeNs,
      mode: inode.mode,
      userId: inode.userId,
      groupId: inode.userId,
    };
  }

  function openInode(path: string): Inode {
    const inode = disk.look(path);
    if (!mayRead(inode, options.userId)) throw systemError("EACCES", path);
    disk.open(inode);
    return inode;
  }

  function readable(path: string, inode: Inode): ReadableFile {
    return {
      stat: () => operate(`fstat ${path}`, () => describe(inode)),
      read: (buffer, position) =>
        operate(`read ${path} from ${position}`, () => {
          if (inode.kind === "directory") throw systemError("EISDIR", path);
          const leftBytes = Math.max(0, inode.bytes.byteLength - position);
          const wholeBytes = Math.min(buffer.byteLength, leftBytes);
          const count =
            wholeBytes > 1 && dice.chance(0.6) ? 1 + dice.below(Math.min(wholeBytes, SHORT_READ_BYTES)) : wholeBytes;
          buffer.set(inode.bytes.subarray(position, position + count));
          return count;
        }),
      close: () => operate(`close ${path}`, () => disk.close(inode)),
    };
  }

  function targetOf(path: string): string {
    const inode = disk.look(path, false);
    if (inode.kind !== "link") throw systemError("EINVAL", path);
    return inode.target;
  }

  return {
    stat: (path) => operate(`stat ${path}`, () => describe(disk.look(path))),
    linkStat: (path) => operate(`lstat ${path}`, () => describe(disk.look(path, false))),
    readLink: (path) => operate(`readlink ${path}`, () => targetOf(path)),
    async openForReading(path) {
      const inode = await operate(`open ${path}`, () => {
        const opened = openInode(path);
        options.onOpen(path);
        return opened;
      });
      return readable(path, inode);
    },
    async createExclusive(path, mode) {
      const inode = await operate(`create ${path}`, () => {
        if (disk.exists(path)) throw systemError("EEXIST", path);
        beforeWrite("create", path, true);
        const created = disk.create(path, "file", { mode, userId: options.userId });
        disk.open(created);
        return created;
      });
      return {
        async write(bytes) {
          // Two parts, so that a process may die between them.
          const half = dice.below(bytes.byteLength + 1);
          for (const end of [half, bytes.byteLength]) {
            await operate(`write ${path} to ${end}`, () => {
              beforeWrite("write", path, true);
              disk.write(inode, bytes.slice(0, end));
            });
          }
        },
        sync: () =>
          operate(`fsync ${path}`, () => {
            beforeWrite("sync", path, false);
            if (!trouble.lies) disk.sync(inode);
          }),
        close: () => operate(`close ${path}`, () => disk.close(inode)),
      };
    },
    rename: (from, to) =>
      operate(`rename ${from} to ${to}`, () => {
        disk.look(from, false);
        beforeWrite("rename", to, false);
        disk.rename(from, to);
      }),
    remove: (path) =>
      operate(`unlink ${path}`, () => {
        disk.look(path, false);
        beforeWrite("remove", path, false);
        disk.remove(path);
      }),
    syncDirectory: (directory) =>
      operate(`fsync ${directory}`, () => {
        const inode = disk.look(directory);
        beforeWrite("sync-directory", directory, false);
        if (!trouble.lies) disk.syncDirectory(inode);
      }),
    makeDirectory: (directory, mode) =>
      operate(`mkdir ${directory}`, () => {
        if (disk.exists(directory)) return;
        beforeWrite("make-directory", directory, true);
        disk.create(directory, "directory", { mode, userId: options.userId });
      }),
    list: (directory) => operate(`list ${directory}`, () => disk.list(directory)),
    mountsNow: () =>
      [
        "1 0 8:1 / / rw - ext4 /dev/root rw",
        ...options.silentFolders.map((folder) => `2 1 0:9 / ${folder} rw - nfs4 server:/export rw`),
      ].join("\n"),
  };
}

function mayRead(inode: Inode, userId: number): boolean {
  return (inode.mode & (inode.userId === userId ? 0o400 : 0o004)) !== 0;
}
