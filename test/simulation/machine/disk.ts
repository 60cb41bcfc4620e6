import { posix } from "node:path";

import type { Dice } from "../dice.ts";

/**
 * A disk as programs see it, through the cache of the operating system. A power cut leaves what was synced, and a random part of the rest.
 *
 * All operations are instantaneous. Programs use it through operations that take time (simulated-files.ts); people (simulation/actors.ts)
 * and tests call it directly.
 */
export interface Disk {
  /** @throws a system error, as every method here does. */
  look(path: string, follow?: boolean): Inode;
  /** @returns null if nothing exists there. */
  lookFor(path: string): Inode | null;
  read(path: string): Uint8Array;
  exists(path: string): boolean;
  list(path: string): readonly string[];
  /** Fails if the name exists. */
  create(path: string, kind: InodeKind, options?: CreateOptions): Inode;
  /** Replaces the content of the file. */
  write(inode: Inode, bytes: Uint8Array): void;
  /**
   * The same without new timestamps, like swapping a read-only image for one with equal timestamps, or a store through a memory mapping.
   */
  writeUnseen(inode: Inode, bytes: Uint8Array): void;
  /** Only within one folder. */
  rename(from: string, to: string): void;
  remove(path: string): void;
  setMode(path: string, mode: number): void;
  /** Sets mtime, as cp -p and rsync -t do; ctime becomes the current time. */
  setModified(path: string, mtimeNs: bigint): void;
  touch(path: string): void;
  /** Makes the content durable. */
  sync(inode: Inode): void;
  /** Makes the names in the folder durable. */
  syncDirectory(directory: Inode): void;
  /** Makes everything durable. */
  syncAll(): void;
  /** Keeps what was synced, and a random part of the rest. */
  powerCut(dice: Dice): void;
  /** Reuses numbers of removed inodes that no program has open, as ext4 does. */
  open(inode: Inode): void;
  close(inode: Inode): void;
  /** Called after each change with the folder and the name in it. */
  onChange: (directory: Inode | null, name: string | null) => void;
}

export type InodeKind = "file" | "directory" | "link" | "other";

export interface CreateOptions {
  readonly mode?: number;
  readonly userId?: number;
  readonly bytes?: Uint8Array;
  readonly target?: string;
}

export interface Inode {
  readonly number: number;
  readonly kind: InodeKind;
  mode: number;
  readonly userId: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  /** Simulated time of the last change according to its timestamps. */
  changedMs: number;
  /** Immutable: another content is another array. */
  bytes: Uint8Array;
  readonly target: string;
  readonly entries: Map<string, Inode>;
  parent: Inode | null;
  name: string;
  opens: number;
  /** Durable content; null before the first sync. */
  durable: Stored | null;
  readonly durableEntries: Map<string, Inode>;
  /** Name changes that are not durable yet, oldest first; each survives completely or not at all. */
  pending: NameChange[];
}

type Stored = Pick<Inode, "bytes" | "mtimeNs" | "ctimeNs" | "changedMs">;
type NameChange = readonly (readonly [name: string, inode: Inode | null])[];

export interface DiskOptions {
  nowMs(): number;
  wall_ms(): number;
  /** Number of wall clock changes. */
  clockSteps(): number;
  /** Resolution of timestamps: the kernel's tick, or a second on old filesystems. */
  readonly granularityMs: number;
}

type ErrorCode = "ENOENT" | "ENOTDIR" | "ELOOP";

const LINK_LIMIT = 40;
const NOTHING = new Uint8Array();
export const ROOT_USER = 0;

export function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

export function createDisk(options: DiskOptions): Disk {
  const granularityNs = BigInt(options.granularityMs) * 1_000_000n;
  const stamps = new Map<number, { readonly ctimeNs: bigint; readonly clockSteps: number }>();
  const freeNumbers: number[] = [];
  const namesByPath = new Map<string, readonly string[]>();
  let nextNumber = 2;
  const root = makeInode("directory", {});
  root.parent = root;

  function makeInode(
    kind: InodeKind,
    { mode, userId = ROOT_USER, bytes = NOTHING, target = "" }: CreateOptions,
  ): Inode {
    const number = freeNumbers.pop() ?? nextNumber++;
    const inode: Inode = {
      number,
      kind,
      mode: mode ?? (kind === "directory" ? 0o755 : 0o644),
      userId,
      mtimeNs: 0n,
      ctimeNs: 0n,
      changedMs: 0,
      bytes,
      target,
      entries: new Map(),
      parent: null,
      name: "",
      opens: 0,
      durable: null,
      durableEntries: new Map(),
      pending: [],
    };
    inode.mtimeNs = stamp(inode);
    return inode;
  }

  /** Sets ctime to the current time and returns it. */
  function stamp(inode: Inode): bigint {
    const nowNs = BigInt(Math.floor(options.wall_ms() * 1e3)) * 1000n;
    let ctimeNs = nowNs - (((nowNs % granularityNs) + granularityNs) % granularityNs);
    const last = stamps.get(inode.number);
    const clockSteps = options.clockSteps();
    // After a clock change, writes at different times can get the same timestamp. No program can detect that, so it is avoided here.
    if (last !== undefined && last.clockSteps !== clockSteps && last.ctimeNs === ctimeNs) ctimeNs += granularityNs;
    stamps.set(inode.number, { ctimeNs, clockSteps });
    inode.ctimeNs = ctimeNs;
    inode.changedMs = options.nowMs();
    return ctimeNs;
  }

  /** @returns the inode, or the kernel's error code. */
  function find(path: string, follow: boolean): Inode | ErrorCode {
    let names = namesOf(path);
    let inode = root;
    let links = 0;
    for (let index = 0; index < names.length; index += 1) {
      const name = names[index] ?? "";
      if (inode.kind !== "directory") return "ENOTDIR";
      if (name === "..") {
        inode = inode.parent ?? root;
        continue;
      }
      const entry = inode.entries.get(name);
      if (entry === undefined) return "ENOENT";
      if (entry.kind !== "link" || (index === names.length - 1 && !follow)) {
        inode = entry;
        continue;
      }
      links += 1;
      if (links > LINK_LIMIT) return "ELOOP";
      if (entry.target.startsWith("/")) inode = root;
      names = [...namesOf(entry.target), ...names.slice(index + 1)];
      index = -1;
    }
    return inode;
  }

  /** Cached components of a path, because the same paths are looked up after every step. */
  function namesOf(path: string): readonly string[] {
    const known = namesByPath.get(path);
    if (known !== undefined) return known;
    const names = path.split("/").filter((name) => name !== "" && name !== ".");
    namesByPath.set(path, names);
    return names;
  }

  function walk(path: string, follow: boolean): Inode {
    const found = find(path, follow);
    if (typeof found === "string") throw systemError(found, path);
    return found;
  }

  function folderOf(path: string): { directory: Inode; name: string } {
    const directory = walk(posix.dirname(path), true);
    if (directory.kind !== "directory") throw systemError("ENOTDIR", path);
    return { directory, name: posix.basename(path) };
  }

  function changeNames(directory: Inode, change: NameChange): void {
    for (const [name, inode] of change) setEntry(directory, name, inode);
    directory.pending.push(change);
    directory.mtimeNs = stamp(directory);
  }

  function notify(inode: Inode): void {
    disk.onChange(inode.parent, inode.name);
  }

  function release(inode: Inode): void {
    if (inode.opens > 0 || inode.parent !== null) return;
    if (!freeNumbers.includes(inode.number)) freeNumbers.push(inode.number);
  }

  /** A number is reused only when neither the cache nor the durable state has the inode, which a power cut could restore. */
  function unlink(inode: Inode): void {
    inode.parent = null;
    for (const child of inode.entries.values()) unlink(child);
    if (inode.durable === null && inode.kind === "file") release(inode);
  }

  const disk: Disk = {
    onChange() {},
    look: (path, follow = true) => walk(path, follow),
    lookFor(path) {
      const found = find(path, true);
      return typeof found === "string" ? null : found;
    },
    read(path) {
      const inode = walk(path, true);
      if (inode.kind === "directory") throw systemError("EISDIR", path);
      return inode.bytes;
    },
    exists: (path) => disk.lookFor(path) !== null,
    list: (path) => [...walk(path, true).entries.keys()],
    create(path, kind, createOptions = {}) {
      const { directory, name } = folderOf(path);
      if (directory.entries.has(name)) throw systemError("EEXIST", path);
      const inode = makeInode(kind, createOptions);
      changeNames(directory, [[name, inode]]);
      notify(inode);
      return inode;
    },
    write(inode, bytes) {
      inode.bytes = bytes;
      inode.mtimeNs = stamp(inode);
      notify(inode);
    },
    writeUnseen(inode, bytes) {
      inode.bytes = bytes;
      disk.onChange(null, null);
    },
    rename(from, to) {
      const source = folderOf(from);
      const target = folderOf(to);
      const inode = source.directory.entries.get(source.name);
      if (inode === undefined) throw systemError("ENOENT", from);
      if (source.directory !== target.directory) throw systemError("EXDEV", from);
      const replaced = target.directory.entries.get(target.name);
      if (replaced?.kind === "directory" && replaced.entries.size > 0) throw systemError("ENOTEMPTY", to);
      changeNames(source.directory, [
        [source.name, null],
        [target.name, inode],
      ]);
      stamp(inode);
      if (replaced !== undefined && replaced !== inode) unlink(replaced);
      disk.onChange(source.directory, source.name);
      notify(inode);
      // Watchers of a moved folder are notified of its own move.
      if (inode.kind === "directory") disk.onChange(inode, null);
    },
    remove(path) {
      const { directory, name } = folderOf(path);
      const inode = directory.entries.get(name);
      if (inode === undefined) throw systemError("ENOENT", path);
      changeNames(directory, [[name, null]]);
      unlink(inode);
      disk.onChange(directory, name);
      if (inode.kind === "directory") disk.onChange(inode, null);
    },
    setMode(path, mode) {
      const inode = walk(path, true);
      inode.mode = mode;
      stamp(inode);
      notify(inode);
    },
    setModified(path, mtimeNs) {
      const inode = walk(path, true);
      inode.mtimeNs = mtimeNs;
      stamp(inode);
      notify(inode);
    },
    touch(path) {
      const inode = walk(path, true);
      inode.mtimeNs = stamp(inode);
      notify(inode);
    },
    sync(inode) {
      inode.durable = stored(inode);
    },
    syncDirectory(directory) {
      directory.pending = [];
      directory.durableEntries.clear();
      for (const [name, inode] of directory.entries) directory.durableEntries.set(name, inode);
    },
    syncAll() {
      const visit = (inode: Inode) => {
        disk.sync(inode);
        disk.syncDirectory(inode);
        for (const child of inode.entries.values()) visit(child);
      };
      visit(root);
    },
    powerCut(dice) {
      // A restored inode must not share its number with a later one.
      freeNumbers.length = 0;
      const visit = (inode: Inode) => {
        restoreNames(inode, dice);
        restoreBytes(inode, dice);
        for (const child of inode.entries.values()) visit(child);
      };
      visit(root);
      disk.onChange(null, null);
    },
    open(inode) {
      inode.opens += 1;
    },
    close(inode) {
      inode.opens -= 1;
      if (inode.durable === null && inode.kind === "file") release(inode);
    },
  };
  return disk;
}

function stored({ bytes, mtimeNs, ctimeNs, changedMs }: Inode): Stored {
  return { bytes, mtimeNs, ctimeNs, changedMs };
}

function setEntry(directory: Inode, name: string, inode: Inode | null): void {
  if (inode === null) {
    directory.entries.delete(name);
    return;
  }
  directory.entries.set(name, inode);
  inode.parent = directory;
  inode.name = name;
}

/** Each unsynced name change survives or not. Most filesystems keep their order; POSIX does not guarantee it. */
function restoreNames(directory: Inode, dice: Dice): void {
  const { pending } = directory;
  if (pending.length === 0) return;
  const keepsOrder = dice.chance(0.7);
  const kept = dice.below(pending.length + 1);
  const changes = pending.filter((_change, index) => (keepsOrder ? index < kept : dice.chance(0.5)));
  for (const child of directory.entries.values()) child.parent = null;
  directory.entries.clear();
  directory.pending = [];
  for (const [name, inode] of directory.durableEntries) setEntry(directory, name, inode);
  for (const change of changes) {
    for (const [name, inode] of change) {
      // A rename whose create was lost still names the inode.
      setEntry(directory, name, inode);
    }
  }
  directory.durableEntries.clear();
  for (const [name, inode] of directory.entries) directory.durableEntries.set(name, inode);
}

/**
 * Unsynced content survives completely, partly, or not at all.
 *
 * Content that differs from the file's timestamps and size does not occur: filesystems with ordered journaling, or that update the size
 * after the data, never leave it.
 */
function restoreBytes(inode: Inode, dice: Dice): void {
  inode.opens = 0;
  if (inode.kind !== "file") return;
  if (inode.durable?.bytes !== inode.bytes) {
    const fate = dice.pick(["kept", "old", "cut", "zeros"] as const);
    if (fate === "old" && inode.durable !== null) Object.assign(inode, inode.durable);
    else if (fate !== "kept") {
      const kept = inode.bytes.slice(0, dice.below(inode.bytes.byteLength));
      inode.bytes = fate === "zeros" ? new Uint8Array(kept.byteLength) : fate === "cut" ? kept : new Uint8Array();
    }
  }
  inode.durable = stored(inode);
}
