import { realpath } from "node:fs/promises";
import { dirname, relative } from "node:path";

import { errorCode } from "./files.ts";

/**
 * Whether links lead from `path` to a place outside of `root`, a folder above it, as this machine follows them. A missing path is judged by
 * its nearest existing parent.
 *
 * @throws Node system errors other than ENOENT.
 */
export async function leadsOut(root: string, path: string): Promise<boolean> {
  try {
    return relative(await realpath(root), await realpath(path)).split("/", 1)[0] === "..";
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    return path !== root && leadsOut(root, dirname(path));
  }
}
