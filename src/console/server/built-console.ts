import { createHash } from "node:crypto";
import { join } from "node:path";

import type { Clock } from "../../platform/clock.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { createFresh } from "../../service/console-door.ts";

/** A file for browsers, with its compressed variants if the build made them. */
export interface ConsoleFile {
  readonly contentType: string;
  /** Base of the ETag. Each encoding has its own ETag (RFC 9110, 8.8.3.3). */
  readonly tag: string;
  readonly plain: Uint8Array;
  readonly br: Uint8Array | null;
  readonly gzip: Uint8Array | null;
}

export interface BuiltConsole {
  readonly page: ConsoleFile;
  /** By file name. Each name contains a hash of the content. */
  readonly assets: ReadonlyMap<string, ConsoleFile>;
}

/** Far above what the build writes. */
const FILES_MAXIMUM = 64;
const FILE_BYTES_MAXIMUM = 4 * 1024 * 1024;
/** How long the page's stat is cached. */
const FRESH_MS = 1000;

const PAGE = "index.html";
const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ["css", "text/css; charset=utf-8"],
  ["html", "text/html; charset=utf-8"],
  ["js", "text/javascript; charset=utf-8"],
  ["svg", "image/svg+xml"],
]);

/**
 * Reads the built console in `folder` on first use, caches it in memory, and reads it again when the page file changes.
 * Returns the cached build while the folder is missing, and null if there never was one.
 *
 * @throws Node system errors, if the folder exists but cannot be read.
 */
export function createConsoleReader(
  folder: string,
  { files, clock }: { readonly files: Files; readonly clock: Pick<Clock, "monotonicMs"> },
): () => Promise<BuiltConsole | null> {
  let held: BuiltConsole | null = null;
  let heldVersion = "";

  return createFresh(
    async () => {
      try {
        const { inode, mtimeNs, sizeBytes } = await files.stat(join(folder, PAGE));
        const version = `${inode} ${mtimeNs} ${sizeBytes}`;
        if (version !== heldVersion) {
          held = await readBuilt(folder, files);
          heldVersion = version;
        }
      } catch (error) {
        if (errorCode(error) !== "ENOENT") throw error;
      }
      return held;
    },
    FRESH_MS,
    clock,
  );
}

async function readBuilt(folder: string, files: Files): Promise<BuiltConsole> {
  const page = describe(PAGE, await readFile(files, join(folder, PAGE)));
  const names = (await files.list(join(folder, "assets"))).toSorted();
  if (names.length > FILES_MAXIMUM) throw new Error(`${folder} holds more than ${FILES_MAXIMUM} files`);
  const contents = new Map<string, Uint8Array>();
  for (const name of names) contents.set(name, await readFile(files, join(folder, "assets", name)));
  const assets = new Map<string, ConsoleFile>();
  for (const [name, bytes] of contents) {
    if (name.endsWith(".br") || name.endsWith(".gz")) continue;
    const [br, gzip] = [contents.get(`${name}.br`) ?? null, contents.get(`${name}.gz`) ?? null];
    assets.set(name, { ...describe(name, bytes), br, gzip });
  }
  return { page, assets };
}

async function readFile(files: Files, path: string): Promise<Uint8Array> {
  const bytes = await readBounded(files, path, FILE_BYTES_MAXIMUM);
  if (bytes === "too-large") throw new Error(`${path} is larger than ${FILE_BYTES_MAXIMUM} bytes`);
  return bytes;
}

function describe(name: string, plain: Uint8Array): ConsoleFile {
  const contentType = CONTENT_TYPES.get(name.split(".").at(-1) ?? "") ?? "application/octet-stream";
  const tag = createHash("sha256").update(plain).digest("base64url").slice(0, 16);
  return { contentType, tag, plain, br: null, gzip: null };
}
