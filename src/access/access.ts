/**
 * Finds out whether a user can read a path, and why not.
 *
 * The kernel decides, and only a process of that user gets the real answer (judge.ts). The walk along the path only explains a refusal and
 * names the entries to open.
 */
import { dirname, join, resolve } from "node:path";

import { components, errorCode, type Files, type FileStat, LINK_LIMIT } from "../platform/files/files.ts";
import type { AccessJudge, Rights } from "./judge.ts";

/** An entry of the path on which the user lacks a right. */
export interface Obstacle {
  readonly path: string;
  readonly isDirectory: boolean;
  readonly stat: FileStat;
}

export type Access =
  | {
      readonly kind: "readable";
      /** The file's folder when the user cannot list it: inotify then reports no changes in it. */
      readonly unlisted: string | null;
    }
  | {
      readonly kind: "blocked";
      /** From the root down; empty when the kernel denies access although modes and owners allow it. */
      readonly obstacles: readonly Obstacle[];
      /** True when this process cannot see below the last obstacle. */
      readonly isPartial: boolean;
    }
  /** The path is missing, a loop of links, or too long. */
  | { readonly kind: "missing" }
  /** Access could not be checked as that user. */
  | { readonly kind: "unjudged" };

/** For each absolute path, whether the judge's user can read it, and the obstacles. */
export async function explainAccess(
  files: Files,
  judge: AccessJudge,
  paths: readonly string[],
): Promise<ReadonlyMap<string, Access>> {
  const walks = new Map<string, Walk>();
  for (const path of new Set(paths)) walks.set(path, await walk(files, path));
  const entries = [...walks.values()].flatMap(({ directories, target }) =>
    [...directories, ...(target === null ? [] : [target])].map((entry) => entry.path),
  );
  const [byPath, byEntry] = [await judge.byPath([...walks.keys()]), await judge.byEntry([...new Set(entries)])];
  return new Map([...walks].map(([path, walked]) => [path, judgeWalk(walked, byPath.get(path), byEntry)]));
}

interface Entry {
  readonly path: string;
  readonly stat: FileStat;
}

/** The entries of a path as the kernel resolves it. */
interface Walk {
  readonly directories: readonly Entry[];
  /** The final target of the path; null when the walk ended before. */
  readonly target: Entry | null;
  /** Why it ended. */
  readonly code: string | null;
}

/** Bounds the entries of one path, links included. */
const COMPONENT_LIMIT = 1024;

async function walk(files: Files, path: string): Promise<Walk> {
  const directories: Entry[] = [];
  let pending = components(resolve(path));
  let directory = "/";
  let links = 0;
  let steps = 0;
  const enter = (entry: Entry) => {
    if (!directories.some((known) => known.path === entry.path)) directories.push(entry);
  };
  try {
    enter({ path: "/", stat: await files.stat("/") });
    for (;;) {
      const [name, ...rest] = pending;
      steps += 1;
      if (name === undefined || steps > COMPONENT_LIMIT) return { directories, target: null, code: "ELOOP" };
      const entryPath = join(directory, name);
      const stat = await files.linkStat(entryPath);
      if (stat.kind === "link") {
        links += 1;
        if (links > LINK_LIMIT) return { directories, target: null, code: "ELOOP" };
        // `directory` contains no links any more, so `..` in the target can be resolved by name.
        pending = [...components(resolve(directory, await files.readLink(entryPath))), ...rest];
        directory = "/";
        continue;
      }
      if (rest.length === 0) return { directories, target: { path: entryPath, stat }, code: null };
      if (stat.kind !== "directory") return { directories, target: null, code: "ENOTDIR" };
      enter({ path: entryPath, stat });
      directory = entryPath;
      pending = rest;
    }
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { directories, target: null, code };
  }
}

function judgeWalk(
  { directories, target, code }: Walk,
  whole: Rights | undefined,
  rights: ReadonlyMap<string, Rights>,
): Access {
  if (whole === undefined) return { kind: "unjudged" };
  if (whole.reads) {
    const home = target === null ? null : dirname(target.path);
    return { kind: "readable", unlisted: home !== null && rights.get(home)?.reads === false ? home : null };
  }
  if (target === null && code !== "EACCES" && code !== "EPERM") return { kind: "missing" };
  const obstacles = directories
    .filter(({ path }) => rights.get(path)?.enters === false)
    .map((entry) => obstacle(entry, true));
  if (target !== null && rights.get(target.path)?.reads === false) obstacles.push(obstacle(target, false));
  return { kind: "blocked", obstacles, isPartial: target === null };
}

function obstacle({ path, stat }: Entry, isDirectory: boolean): Obstacle {
  return { path, stat, isDirectory };
}
