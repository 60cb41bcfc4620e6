import { basename, dirname, resolve } from "node:path";

import type { Clock } from "../clock.ts";
import { type Files, type FileStat, LINK_LIMIT } from "./files.ts";

/**
 * Finds which of these files a program has open for writing, and its process id.
 *
 * /proc shows a user the open files of its own processes, root those of all processes, and none with ProtectProc= or hidepid
 * (proc_pid_fd(5)). Files that are not visible count as not open, as do files that were mapped into memory and closed:
 * /proc/PID/map_files needs privileges. Descriptors with other names are not followed, because their disk may hang.
 */
export async function findOpenWriters(
  { files, clock }: { readonly files: Files; readonly clock: Clock },
  targets: ReadonlyMap<string, FileStat>,
): Promise<ReadonlyMap<string, number>> {
  const writers = new Map<string, number>();
  const processIds = await listProcesses(files);
  if (processIds.length === 0) return writers;
  const names = new Set(await Promise.all([...targets.keys()].map((path) => finalName(files, path))));

  /** Synchronous, to avoid thousands of promises; reading the name never waits for the disk. */
  function leadsToTarget(link: string): boolean {
    try {
      return names.has(basename(files.readLinkNow(link)));
    } catch {
      // Closed meanwhile.
      return false;
    }
  }

  async function lookAt(processId: number, link: string): Promise<void> {
    // The permissions of the link are the mode in which the file is open.
    if (((await files.linkStat(link)).mode & OWNER_WRITE) === 0) return;
    const { device, inode } = await files.stat(link);
    for (const [path, stat] of targets) {
      if (stat.device === device && stat.inode === inode) writers.set(path, processId);
    }
  }

  async function lookInto(processId: number): Promise<void> {
    const descriptors = await files.list(`/proc/${processId}/fd`);
    const links = descriptors.slice(0, DESCRIPTOR_LIMIT).map((descriptor) => `/proc/${processId}/fd/${descriptor}`);
    // Closed meanwhile.
    await Promise.allSettled(links.filter(leadsToTarget).map((link) => lookAt(processId, link)));
  }

  const endMs = clock.monotonicMs() + LOOK_LIMIT_MS;
  for (let first = 0; first < processIds.length && clock.monotonicMs() < endMs; first += AT_ONCE) {
    // Ended meanwhile, or another user's.
    await Promise.allSettled(processIds.slice(first, first + AT_ONCE).map(lookInto));
  }
  return writers;
}

/** Bounds the processes to check; the oldest are left out. */
const PROCESS_LIMIT = 4096;
/** Of one process. */
const DESCRIPTOR_LIMIT = 1024;
/** Bounds one look. Robots have hundreds of processes; a thousand take a tenth of a second. */
const LOOK_LIMIT_MS = 1000;
/** Processes checked in parallel. */
const AT_ONCE = 16;
const OWNER_WRITE = 0o200;

/** Youngest first, because programs that write configuration files rarely run for long. */
async function listProcesses(files: Files): Promise<readonly number[]> {
  const names = await files.list("/proc").catch(() => []);
  const ids = names.map(Number).filter(Number.isInteger);
  return ids.toSorted((one, other) => other - one).slice(0, PROCESS_LIMIT);
}

/** The name of the file that the links of `path` lead to. */
async function finalName(files: Files, path: string): Promise<string> {
  let end = path;
  for (let links = 0; links < LINK_LIMIT; links++) {
    const target = await files.readLink(end).catch(() => undefined);
    if (target === undefined) break;
    end = resolve(dirname(end), target);
  }
  return basename(end);
}
