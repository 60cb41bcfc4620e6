import * as fs from "node:fs";
import { lstat, mkdir, open, readdir, readlink, rename, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** The stat of a path. When two are equal, the file was not replaced or written in between. */
export interface FileStat {
  readonly kind: "file" | "directory" | "link" | "other";
  readonly device: bigint;
  readonly inode: bigint;
  readonly sizeBytes: number;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  /** Permission bits, 0o7777. */
  readonly mode: number;
  readonly userId: number;
  readonly groupId: number;
  /** Of a device node, its name below /sys/dev: `char/81:0`. */
  readonly deviceNode?: string;
}

/** True when the file was neither written nor replaced between the two stats, as far as timestamps tell. */
export function sameStat(one: FileStat, other: FileStat): boolean {
  return (
    one.kind === other.kind &&
    one.inode === other.inode &&
    one.device === other.device &&
    one.sizeBytes === other.sizeBytes &&
    one.mtimeNs === other.mtimeNs &&
    one.ctimeNs === other.ctimeNs
  );
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

/** The owner of a new file. */
export type FileOwner = Pick<FileStat, "userId" | "groupId">;

/** File operations. Every method rejects with a Node error that has a `code` such as `ENOENT`. */
export interface Files {
  /** Follows symbolic links. */
  stat(path: string): Promise<FileStat>;
  /** Does not follow a symbolic link in the last component. */
  linkStat(path: string): Promise<FileStat>;
  readLink(path: string): Promise<string>;
  /** Opens without blocking, so that a FIFO without a writer cannot hang the caller. */
  openForReading(path: string): Promise<ReadableFile>;
  /** Creates the file with exactly `mode`, and with `owner` when this process is root; fails with EEXIST when it exists. */
  createExclusive(path: string, mode: number, owner?: FileOwner): Promise<WritableFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Makes a completed create, rename or remove in `directory` durable. */
  syncDirectory(directory: string): Promise<void>;
  /** Creates the directory and its missing parents. */
  makeDirectory(directory: string, mode: number): Promise<void>;
  /** Names in the directory, unordered. */
  list(directory: string): Promise<readonly string[]>;
  /** The text of /proc/self/mountinfo, for `readMounts`; never hangs. Empty when it cannot be read. */
  mountsNow(): string;
}

/** The `code` of a Node system error, for example `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The kernel's limit of links in one path (path_resolution(7)). */
export const LINK_LIMIT = 40;

/** The names in a path. */
export function components(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

/** Whether something is at the path, as far as this process can see. Follows links. */
export function exists(files: Pick<Files, "stat">, path: string): Promise<boolean> {
  return files.stat(path).then(
    () => true,
    () => false,
  );
}

const { O_RDONLY, O_NONBLOCK, O_NOCTTY, O_DIRECTORY } = fs.constants;

export const systemFiles: Files = {
  stat: async (path) => describeStat(await stat(path, { bigint: true })),
  linkStat: async (path) => describeStat(await lstat(path, { bigint: true })),
  readLink: (path) => readlink(path),
  async openForReading(path) {
    const file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    return {
      stat: async () => describeStat(await file.stat({ bigint: true })),
      read: async (buffer, position) => (await file.read(buffer, 0, buffer.byteLength, position)).bytesRead,
      close: () => file.close(),
    };
  },
  async createExclusive(path, mode, owner) {
    const file = await open(path, "wx", mode);
    try {
      await Promise.all([
        // open(2) masks the mode with the umask; the caller's word counts.
        file.chmod(mode),
        // Only root may change the owner, and only root needs to.
        owner === undefined ? undefined : file.chown(owner.userId, owner.groupId).catch(() => {}),
      ]);
    } catch (error) {
      await file.close();
      throw error;
    }
    return { write: (bytes) => file.writeFile(bytes), sync: () => file.sync(), close: () => file.close() };
  },
  rename: (from, to) => rename(from, to),
  remove: (path) => unlink(path),
  async syncDirectory(directory) {
    const file = await open(directory, O_RDONLY | O_DIRECTORY);
    try {
      await file.sync();
    } finally {
      void file.close().catch(() => {});
    }
  },
  makeDirectory: makeDirectories,
  list: (directory) => readdir(directory),
  mountsNow() {
    try {
      return fs.readFileSync("/proc/self/mountinfo", "utf8");
    } catch {
      return "";
    }
  },
};

/**
 * Does not use mkdir's `recursive`, which loops forever on a filesystem that answers ENOENT to every new name, as /proc does.
 *
 * @throws the error of mkdir(2), EEXIST when the path is not a directory.
 */
async function makeDirectories(directory: string, mode: number): Promise<void> {
  const make = async () => {
    try {
      await mkdir(directory, { mode });
    } catch (error) {
      if (!(await isDirectory(directory))) throw error;
    }
  };
  try {
    await make();
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || dirname(directory) === directory) throw error;
    await makeDirectories(dirname(directory), mode);
    await make();
  }
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

/** Converts Node's stat. */
export function describeStat(stats: fs.BigIntStats): FileStat {
  return {
    kind: kindOf(stats),
    device: stats.dev,
    inode: stats.ino,
    sizeBytes: Number(stats.size),
    mtimeNs: stats.mtimeNs,
    ctimeNs: stats.ctimeNs,
    mode: Number(stats.mode & 0o7777n),
    userId: Number(stats.uid),
    groupId: Number(stats.gid),
    ...(stats.isCharacterDevice() && { deviceNode: `char/${deviceNumbers(stats.rdev)}` }),
    ...(stats.isBlockDevice() && { deviceNode: `block/${deviceNumbers(stats.rdev)}` }),
  };
}

/** Major and minor number, as major(3) of glibc takes them apart. */
function deviceNumbers(rdev: bigint): string {
  const major = ((rdev >> 8n) & 0xfffn) | ((rdev >> 32n) & 0xfffff000n);
  const minor = (rdev & 0xffn) | ((rdev >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

function kindOf(stats: fs.BigIntStats): FileStat["kind"] {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "directory";
  return stats.isSymbolicLink() ? "link" : "other";
}
