import type { Files } from "../../../../src/platform/files/files.ts";
import { systemError } from "../../machine/disk.ts";

function refuse(path: string): Promise<never> {
  return Promise.reject(systemError("ENOENT", path));
}

/** File access of a replica that has no files: its database exists, and its configuration is passed in. */
export const refuseFiles: Files = {
  stat: refuse,
  linkStat: refuse,
  readLink: refuse,
  openForReading: refuse,
  createExclusive: (path) => Promise.reject(systemError("EEXIST", path)),
  rename: refuse,
  remove: refuse,
  syncDirectory: refuse,
  makeDirectory: refuse,
  list: refuse,
  mountsNow: () => "",
};
