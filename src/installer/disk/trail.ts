import { constants } from "node:fs";
import * as fs from "node:fs";

import { components, errorCode, LINK_LIMIT } from "../../platform/files/files.ts";
import { DiskError } from "./disk.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * The open folders between the root of a tree and the current position in it.
 *
 * Node has no openat2(2) with RESOLVE_IN_ROOT. So each component is opened with O_NOFOLLOW: `/proc/self/fd/N/name` is openat(N, name). Links
 * are read and resolved here, with the root of the tree as the limit of `/` and `..`. Somebody who replaces a folder by a link meanwhile
 * changes nothing, because the open descriptors still refer to the old folders.
 *
 * Synchronous: an installation opens thousands of cached folders, and the thread pool doubled its time.
 */
export class Trail implements Disposable {
  readonly #top: number;
  readonly #below: number[] = [];

  /** @param top the descriptor of the root. */
  constructor(top: number) {
    this.#top = top;
  }

  nameOf(component: string): string {
    return `/proc/self/fd/${this.#below.at(-1) ?? this.#top}/${component}`;
  }

  follow(names: readonly string[]): void {
    const ahead = names.toReversed();
    let links = 0;
    for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
      if (name === ".") continue;
      if (name === "..") {
        const left = this.#below.pop();
        if (left !== undefined) fs.closeSync(left);
        continue;
      }
      const target = this.#enter(name);
      if (target === null) continue;
      links += 1;
      if (links > LINK_LIMIT) throw new DiskError("ELOOP", name);
      if (target.startsWith("/")) this.#leave();
      ahead.push(...components(target).toReversed());
    }
  }

  /** @returns null when the folder was entered, else the target of the link that is there. */
  #enter(name: string): string | null {
    try {
      this.#below.push(fs.openSync(this.nameOf(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
      return null;
    } catch (error) {
      // For a link the kernel answers with either code.
      if (errorCode(error) !== "ENOTDIR" && errorCode(error) !== "ELOOP") throw error;
      try {
        return fs.readlinkSync(this.nameOf(name));
      } catch {
        throw error;
      }
    }
  }

  #leave(): void {
    for (const folder of this.#below.splice(0)) fs.closeSync(folder);
  }

  [Symbol.dispose](): void {
    this.#leave();
  }
}
