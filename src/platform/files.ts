import { constants, statSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import * as fs from "node:fs/promises";

/** What the programs need to know of a path. Two equal stats mean: nothing replaced or wrote the file in between. */
export interface FileStat {
  readonly kind: "file" | "directory" | "link" | "other";
  readonly device: bigint;
  readonly inode: bigint;
  readonly size_bytes: number;
  readonly mtime_ns: bigint;
  readonly ctime_ns: bigint;
  /** Permission bits, 0o7777. */
  readonly mode: number;
  readonly user_id: number;
  readonly group_id: number;
}

/** A file open for reading. */
export interface ReadableFile {
  stat(): Promise<FileStat>;
  /** Reads into `buffer` from `position`; resolves with the number of bytes read, 0 at the end. */
  read(buffer: Uint8Array, position: number): Promise<number>;
  close(): Promise<void>;
}

/** A file open for writing. Nothing written is durable before `sync` resolved. */
export interface WritableFile {
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The disk. Every method rejects with a Node error that carries a `code` such as `ENOENT`. */
export interface Files {
  /** Follows symbolic links. */
  stat(path: string): Promise<FileStat>;
  /** Does not follow a symbolic link in the last component. */
  linkStat(path: string): Promise<FileStat>;
  /** As `stat`, without leaving the thread: one system call. For paths known to be on a local filesystem only. */
  statNow(path: string): FileStat;
  readLink(path: string): Promise<string>;
  /** Opens without blocking, so that a FIFO without a writer cannot hang the caller. */
  openForReading(path: string): Promise<ReadableFile>;
  /** Creates the file with exactly `mode`; fails with EEXIST when it is there. */
  createExclusive(path: string, mode: number): Promise<WritableFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes a completed create, rename or remove in `directory` durable. */
  syncDirectory(directory: string): Promise<void>;
  /** Creates the directory and its missing parents. */
  makeDirectory(directory: string, mode: number): Promise<void>;
  /** Names in the directory, unordered. */
  list(directory: string): Promise<readonly string[]>;
  /** True when the kernel reports changes there: false for network and most user-space filesystems. */
  reportsChanges(path: string): Promise<boolean>;
}

/** The `code` of a Node system error, for example `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/**
 * Filesystems whose files change without the kernel of this machine seeing it (statfs(2) f_type, linux/magic.h):
 * NFS, SMB, CIFS, SMB2, 9p, FUSE (sshfs), Ceph, AFS, Coda, vboxsf.
 */
const SILENT_FILESYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x00c36400, 0x5346414f, 0x73757245, 0x786f4256,
]);

export const systemFiles: Files = {
  stat: async (path) => describe(await fs.stat(path, { bigint: true })),
  linkStat: async (path) => describe(await fs.lstat(path, { bigint: true })),
  statNow: (path) => describe(statSync(path, { bigint: true })),
  readLink: (path) => fs.readlink(path),
  async openForReading(path) {
    const handle = await fs.open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    return {
      stat: async () => describe(await handle.stat({ bigint: true })),
      read: async (buffer, position) => (await handle.read(buffer, 0, buffer.byteLength, position)).bytesRead,
      close: () => handle.close(),
    };
  },
  async createExclusive(path, mode) {
    const handle = await fs.open(path, "wx", mode);
    // open(2) masks the mode with the umask; the caller's word counts.
    await handle.chmod(mode);
    return {
      write: (bytes) => handle.writeFile(bytes),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  },
  rename: (from, to) => fs.rename(from, to),
  remove: (path) => fs.unlink(path),
  async syncDirectory(directory) {
    const handle = await fs.open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
  async makeDirectory(directory, mode) {
    await fs.mkdir(directory, { recursive: true, mode });
  },
  list: (directory) => fs.readdir(directory),
  reportsChanges: async (path) => !SILENT_FILESYSTEMS.has((await fs.statfs(path)).type),
};

function describe(stats: BigIntStats): FileStat {
  return {
    kind: kindOf(stats),
    device: stats.dev,
    inode: stats.ino,
    size_bytes: Number(stats.size),
    mtime_ns: stats.mtimeNs,
    ctime_ns: stats.ctimeNs,
    mode: Number(stats.mode & 0o7777n),
    user_id: Number(stats.uid),
    group_id: Number(stats.gid),
  };
}

function kindOf(stats: BigIntStats): FileStat["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "other";
}
