import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import * as fs from "node:fs/promises";

import { errorCode } from "../platform/files.ts";
import { DiskError } from "./disk.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/** As the kernel's own bound (path_resolution(7)). */
export const LINK_LIMIT = 40;

/**
 * The folders that are open on the way down from the root of a tree.
 *
 * Node has no openat2(2) with RESOLVE_IN_ROOT, so folders are opened one by one and never through a link: `/proc/self/fd/N/name` is
 * openat(N, name). A link is read and followed here, with `/` and `..` ending at the root. What was opened stays what it is, also when
 * somebody swaps folders for links meanwhile.
 */
export class Trail implements AsyncDisposable {
  readonly #top: FileHandle;
  readonly #below: FileHandle[] = [];

  constructor(top: FileHandle) {
    this.#top = top;
  }

  nameOf(component: string): string {
    return `/proc/self/fd/${(this.#below.at(-1) ?? this.#top).fd}/${component}`;
  }

  async follow(names: readonly string[]): Promise<void> {
    const ahead = names.toReversed();
    let links = 0;
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === ".") continue;
      if (name === "..") {
        await this.#below.pop()?.close();
        continue;
      }
      const target = await this.#enter(name);
      if (target === null) continue;
      links += 1;
      if (links > LINK_LIMIT) throw new DiskError("ELOOP", name);
      if (target.startsWith("/")) await this.#leave();
      ahead.push(...components(target).toReversed());
    }
  }

  /** @returns null when the folder was entered, else the target of the link that is there. */
  async #enter(name: string): Promise<string | null> {
    try {
      this.#below.push(await fs.open(this.nameOf(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      return null;
    } catch (error) {
      // The kernel has both answers for a link.
      if (errorCode(error) !== "ENOTDIR" && errorCode(error) !== "ELOOP") throw error;
      const target = await fs.readlink(this.nameOf(name)).catch(() => null);
      if (target === null) throw error;
      return target;
    }
  }

  async #leave(): Promise<void> {
    for (const folder of this.#below.splice(0)) await folder.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#leave();
  }
}

export function components(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}
