/**
 * A tree of files that is installed into: the machine's own, or an image that is going to be one. Paths are absolute and mean what they
 * mean to a process that has the root of the tree as its root: no link and no `..` leads out of it.
 *
 * Every method rejects with a `DiskError`.
 */
export interface Disk {
  /** Where the tree lies on this machine: `/`, or the folder of an image. */
  readonly root: string;
  /** Does not follow a link in the last component. */
  look(path: string): Promise<Sight>;
  /** As `look`, of what a link in the last component leads to. */
  lookThrough(path: string): Promise<Sight>;
  /** At most `lengthBytes` of a regular file from `position` on; fewer where it ends. Follows links. */
  readPart(path: string, position: number, lengthBytes: number): Promise<Uint8Array>;
  /** The whole of a regular file in pieces. */
  pieces(path: string): AsyncIterable<Uint8Array>;
  /** Names in the folder, unordered. */
  list(path: string): Promise<readonly string[]>;
  /** The parent has to be there. */
  makeDirectory(path: string, access: Access): Promise<void>;
  /** Creates the file and writes it, durably but for its name; fails with EEXIST when something is there. */
  create(path: string, content: Pieces, access: Access): Promise<void>;
  /** Of a regular file or a folder. */
  setAccess(path: string, access: Access): Promise<void>;
  makeSymbolicLink(path: string, target: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Fails with ENOTEMPTY when something is in it. */
  removeDirectory(path: string): Promise<void>;
  /** With all that is in it. Links in it are removed and not followed, also those that somebody puts there meanwhile. */
  removeTree(path: string): Promise<void>;
  /** Makes completed changes of names in the folder durable. */
  syncDirectory(path: string): Promise<void>;
}

/** The content of a file, one piece after the other. */
export type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Who may do what with a file; the mode is 0o7777. */
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

/** What a file says that is read whole. Null where there is none, or something that is no file. */
export async function readText(disk: Disk, path: string, limitBytes: number): Promise<string | "too-large" | null> {
  const sight = await disk.lookThrough(path);
  if (sight.kind !== "file") return null;
  const bytes = await disk.readPart(path, 0, limitBytes + 1);
  return bytes.byteLength > limitBytes ? "too-large" : new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** True where the error is a failed system call with one of the codes. */
export function isDiskError(error: unknown, ...codes: readonly string[]): error is DiskError {
  return error instanceof DiskError && codes.includes(error.code);
}
