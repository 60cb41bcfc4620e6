/**
 * The tree of files to install into: this machine's, or an image's. Paths are absolute and resolve as in a chroot(2) to the root of the
 * tree: no link and no `..` leaves it.
 *
 * Every method rejects with a `DiskError`.
 */
export interface Disk {
  /** Where the tree lies on this machine: `/`, or the folder of an image. */
  readonly root: string;
  /** Does not follow a link in the last component. */
  look(path: string): Promise<Sight>;
  /** As `look`, but follows a link in the last component. */
  lookThrough(path: string): Promise<Sight>;
  /** Up to `lengthBytes` of a regular file from `position`. Follows links. */
  readPart(path: string, position: number, lengthBytes: number): Promise<Uint8Array>;
  /** The whole content of a regular file. */
  pieces(path: string): AsyncIterable<Uint8Array>;
  /** Names in the folder, unordered. */
  list(path: string): Promise<readonly string[]>;
  /** The parent must exist. */
  makeDirectory(path: string, access: Access): Promise<void>;
  /** Creates the file and syncs its content, not its name (`syncDirectory`). Fails with EEXIST where the path exists. */
  create(path: string, content: Pieces, access: Access): Promise<void>;
  /** For a regular file or a folder. */
  setAccess(path: string, access: Access): Promise<void>;
  makeSymbolicLink(path: string, target: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Fails with ENOTEMPTY where it is not empty. */
  removeDirectory(path: string): Promise<void>;
  /** Recursive. Removes links and never follows one, not even one created during the removal. */
  removeTree(path: string): Promise<void>;
  /** fsync(2) of a folder: makes creations, renames and removals in it durable. */
  syncDirectory(path: string): Promise<void>;
}

/** The content of a file, one piece after the other. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Owner and permission bits (0o7777). */
export interface Access {
  readonly mode: number;
  readonly userId: number;
  readonly groupId: number;
}

export type Sight =
  | { readonly kind: "absent" }
  | ({ readonly kind: "file"; readonly sizeBytes: number } & Access)
  | ({ readonly kind: "directory" } & Access)
  | { readonly kind: "link"; readonly target: string }
  /** A device, a socket, a FIFO. */
  | { readonly kind: "other" };

/** A failed system call, with the path as it is inside the tree. */
export class DiskError extends Error {
  override readonly name = "DiskError";
  readonly code: string;
  readonly path: string;

  constructor(code: string, path: string, cause?: unknown) {
    super(`${path}: ${code}`, { cause });
    this.code = code;
    this.path = path;
  }
}

/** @returns null where there is no regular file. */
export async function readText(disk: Disk, path: string, limitBytes: number): Promise<string | "too-large" | null> {
  const sight = await disk.lookThrough(path);
  if (sight.kind !== "file") return null;
  const bytes = await disk.readPart(path, 0, limitBytes + 1);
  return bytes.byteLength > limitBytes ? "too-large" : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

export function isDiskError(error: unknown, ...codes: readonly string[]): error is DiskError {
  return error instanceof DiskError && codes.includes(error.code);
}
