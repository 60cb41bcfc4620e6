/**
 * Looks around on the disk: read-only, bounded in folders, names, bytes and time, and neither in network mounts nor in private folders of
 * other users. What was left alone is kept, to be told.
 */
import { opendir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { Clock } from "../../../platform/clock.ts";
import { readBounded } from "../../../platform/files/durable-file.ts";
import { components, errorCode, type Files, type FileStat, LINK_LIMIT } from "../../../platform/files/files.ts";
import { type Mount, mountOf, readMounts } from "../../../platform/files/mounts.ts";

export interface SearchOptions {
  readonly files: Files;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Homes of people. Folders in them that other users may not enter are left alone. */
  readonly homes: readonly string[];
  readonly limits?: Partial<typeof LIMITS>;
}

const LIMITS = { folders: 3000, namesInFolder: 1000, readFiles: 1000, durationMs: 5000 };
const FILE_LIMIT_BYTES = 256 * 1024;
/** Levels that `walk` goes down. */
const DEPTH = 7;
const NOTE_LIMIT = 20;
/** What `walk` does not enter: what programs build, and what is not configuration. */
const SKIPPED = /^(?:\..*|build|install|log|devel|meshes|node_modules|tests?)$/;
/** The system's answers for a path that leads nowhere. */
const NOTHING_THERE = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

/** A file or folder, links followed. */
export interface Entry {
  readonly name: string;
  /** As the robot's software opens it. */
  readonly path: string;
  readonly kind: "file" | "directory";
  readonly modifiedMs: number;
}

export class Search {
  /** Whether it ended at a limit, so that there may be more. */
  isCut = false;
  /** Why places were not looked at. */
  readonly skipped = new Map<string, string>();
  readonly #options: SearchOptions;
  readonly #left: typeof LIMITS;
  readonly #endMs: number;
  readonly #mounts: readonly Mount[];
  readonly #owners = new Set<number>();

  private constructor(options: SearchOptions) {
    this.#options = options;
    this.#left = { ...LIMITS, ...options.limits };
    this.#endMs = options.clock.monotonicMs() + this.#left.durationMs;
    this.#mounts = readMounts(options.files.mountsNow());
  }

  static async open(options: SearchOptions): Promise<Search> {
    const search = new Search(options);
    for (const home of options.homes) {
      const place = await search.#resolve(home);
      if (place !== null) search.#owners.add(place.stat.userId);
    }
    return search;
  }

  /**
   * Files and folders by a pattern below a folder, in the order of their names; `*` is any part of a name that does not begin with a dot.
   * A `*` enters no folder by a link, so that no search is endless.
   */
  async find(folder: string, places: string): Promise<readonly Entry[]> {
    const [first = "", ...others] = places.split("/");
    const rest = others.join("/");
    if (!first.includes("*")) {
      const path = join(folder, first);
      if (rest !== "") return this.find(path, rest);
      const entry = entryOf(path, (await this.#resolve(path))?.stat);
      return entry === null ? [] : [entry];
    }
    const pattern = new RegExp(`^(?!\\.)${first.replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
    const entries = (await this.#list(folder)).filter(({ name }) => pattern.test(name));
    if (rest === "") return entries;
    const found: Entry[] = [];
    for (const { path, kind } of entries) if (kind === "directory") found.push(...(await this.find(path, rest)));
    return found;
  }

  /** All files below a folder. */
  async walk(folder: string, depth: number = DEPTH): Promise<readonly Entry[]> {
    const found: Entry[] = [];
    for (const entry of await this.#list(folder)) {
      if (entry.kind === "file") found.push(entry);
      else if (depth > 0 && !SKIPPED.test(entry.name)) found.push(...(await this.walk(entry.path, depth - 1)));
    }
    return found;
  }

  /** The text of a file; empty where none is, and for one that is larger than a configuration. */
  async read(path: string): Promise<string> {
    const place = await this.#resolve(path);
    if (place?.stat.kind !== "file" || !this.#mayTake("readFiles", path)) return "";
    try {
      const bytes = await readBounded(this.#options.files, path, FILE_LIMIT_BYTES);
      return bytes === "too-large" ? "" : Buffer.from(bytes).toString("utf8");
    } catch (error) {
      this.#refused(path, error);
      return "";
    }
  }

  /** Links to folders are left out. */
  async #list(folder: string): Promise<readonly Entry[]> {
    const place = await this.#resolve(folder);
    if (place?.stat.kind !== "directory" || !this.#mayTake("folders", folder)) return [];
    const names: string[] = [];
    try {
      // Data sets have folders of a million files, whose names are not read to the end.
      for await (const { name } of await opendir(folder)) {
        if (names.length < this.#left.namesInFolder) names.push(name);
        else break;
      }
    } catch (error) {
      this.#refused(folder, error);
    }
    if (names.length === this.#left.namesInFolder)
      this.#skip(folder, `only ${names.length} of its names were looked at`);
    const entries: Entry[] = [];
    // Names that are not text, or that no manifest takes.
    for (const name of names.filter((each) => !/[\uFFFD\p{Cc}$*?]/u.test(each)).toSorted()) {
      const path = join(folder, name);
      const stat = await this.#linkStat(join(place.path, name));
      const isLink = stat?.kind === "link";
      const entry = entryOf(path, isLink ? (await this.#resolve(path))?.stat : stat);
      if (entry !== null && !(isLink && entry.kind === "directory")) entries.push(entry);
    }
    return entries;
  }

  /**
   * What is at the path, and where that is without links. It goes name by name, because the stat of a whole path would follow a link into a network mount whose
   * server is gone, and never return.
   */
  async #resolve(path: string): Promise<{ readonly path: string; readonly stat: FileStat } | null> {
    const ahead = components(path);
    let at = "/";
    let links = 0;
    let found: FileStat | null = null;
    for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
      const next = join(at, name);
      found = await this.#linkStat(next);
      if (found === null) return null;
      if (this.#isPrivate(found)) return this.#skip(path, "in a private folder of another user");
      if (found.kind !== "link") {
        at = next;
        continue;
      }
      links += 1;
      if (links > LINK_LIMIT) return null;
      const target = await this.#options.files.readLink(next).catch(() => "");
      if (target.startsWith("/")) at = "/";
      ahead.unshift(...components(target));
    }
    return found === null ? null : { path: at, stat: found };
  }

  /** Root could read it, but the person for whom it looks may not. */
  #isPrivate({ kind, mode, userId }: FileStat): boolean {
    return kind === "directory" && (mode & 0o001) === 0 && this.#owners.size > 0 && !this.#owners.has(userId);
  }

  /**
   * @param path without links but in its last name.
   * @throws the signal's reason.
   */
  async #linkStat(path: string): Promise<FileStat | null> {
    this.#options.signal.throwIfAborted();
    if (this.#options.clock.monotonicMs() > this.#endMs) return this.#cut(path, "no time was left");
    // Also the stat of a mount point asks the server.
    if (mountOf(this.#mounts, path)?.isLocal !== true) return this.#skip(path, "on a network filesystem");
    try {
      return await this.#options.files.linkStat(path);
    } catch (error) {
      return this.#refused(path, error);
    }
  }

  #mayTake(what: "folders" | "readFiles", path: string): boolean {
    this.#left[what] -= 1;
    if (this.#left[what] < 0) this.#cut(path, "too much was looked at already");
    return this.#left[what] >= 0;
  }

  #refused(path: string, error: unknown): null {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return NOTHING_THERE.has(code) ? null : this.#skip(path, `not readable (${code})`);
  }

  #cut(path: string, reason: string): null {
    this.isCut = true;
    return this.#skip(dirname(path), reason);
  }

  #skip(path: string, reason: string): null {
    if (this.skipped.size < NOTE_LIMIT) this.skipped.set(path, reason);
    return null;
  }
}

function entryOf(path: string, stat: FileStat | null | undefined): Entry | null {
  if (stat === null || stat === undefined || (stat.kind !== "file" && stat.kind !== "directory")) return null;
  return { name: basename(path), path, kind: stat.kind, modifiedMs: Number(stat.mtimeNs / 1_000_000n) };
}
