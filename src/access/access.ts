/**
 * Finds out whether a user can read a path, and why not.
 *
 * The kernel decides, by modes, ACLs, security modules and network drives, and only a process of that user gets the real answer. The walk
 * along the path only explains a refusal and names the entries to open.
 */
import { access, constants } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { EntryHandle } from "../platform/files/entry-handle.ts";
import { openEntry } from "../platform/files/entry-handle.ts";
import type { FileStat, Files } from "../platform/files/files.ts";
import { components, errorCode, exists, LINK_LIMIT } from "../platform/files/files.ts";
import type { RunProgram } from "../platform/programs.ts";
import { FIRST_DESCRIPTOR } from "../platform/programs.ts";
import type { Account } from "./account.ts";

/** Rights on an entry: `reads` a file or lists a folder; `enters` a folder. */
export interface Rights {
  readonly reads: boolean;
  readonly enters: boolean;
}

/** Asks the kernel for the rights of one user. Entries that could not be checked are missing in the results. */
export interface AccessJudge {
  /** Checks whole paths, including all folders above. */
  byPath(paths: readonly string[]): Promise<ReadonlyMap<string, Rights>>;
  /** Checks each entry alone, ignoring the folders above. The paths contain no links. */
  byEntry(paths: readonly string[]): Promise<ReadonlyMap<string, Rights>>;
}

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
      readonly unlisted: Obstacle | null;
    }
  | {
      readonly kind: "blocked";
      /** From the root down; empty when the kernel denies access although modes and owners allow it. */
      readonly obstacles: readonly Obstacle[];
      readonly unlisted: Obstacle | null;
      /** True when this process cannot see below the last obstacle. */
      readonly isPartial: boolean;
    }
  /** The path is missing, a loop of links, or too long: the system's code. */
  | { readonly kind: "missing"; readonly code: string }
  /** Access could not be checked as that user. */
  | { readonly kind: "unjudged" };

/** Checks access as the user of this process. */
export const judgeAsSelf: AccessJudge = { byPath: askAsSelf, byEntry: askAsSelf };

async function askAsSelf(paths: readonly string[]): Promise<ReadonlyMap<string, Rights>> {
  const rights = await Promise.all(
    paths.map(async (path) => {
      const [reads, enters] = await Promise.all([may(path, constants.R_OK), may(path, constants.X_OK)]);
      return [path, { reads, enters }] as const;
    }),
  );
  return new Map(rights);
}

function may(path: string, mode: number): Promise<boolean> {
  return new Promise((resolve) => {
    access(path, mode, (error) => resolve(error === null));
  });
}

/** Well below the limits on arguments (execve(2)) and open files. */
const PATHS_AT_ONCE = 32;
const JUDGE_LIMIT_MS = 5000;
/** access(2) by the shell, and nothing opened: a FIFO would hang it. */
const SCRIPT = `for path do
  if [ -r "$path" ]; then r=r; else r=-; fi
  if [ -x "$path" ]; then x=x; else x=-; fi
  echo "$r$x"
done`;

/** True when proc(5) is mounted, through which a process of another user accesses the entries opened here. A chroot may lack it. */
export function hasProc(files: Pick<Files, "stat">): Promise<boolean> {
  return exists(files, "/proc/self/fd");
}

/** Checks access as another user, with a process of that user. Needs root. */
export function judgeAs(account: Account, runProgram: RunProgram): AccessJudge {
  return {
    byPath: (paths) => inParts(paths, (some) => ask(account, runProgram, { of: some, shown: some, descriptors: [] })),
    byEntry: (paths) =>
      inParts(paths, async (some) => {
        using stack = new DisposableStack();
        // Awaited here, because returning closes the handles.
        return await askOfHandles(
          account,
          runProgram,
          some.flatMap((path) => openOrSkip(path, stack)),
        );
      }),
  };
}

/** The rights of the user on entries opened by this process, by path. */
export async function judgeHandles(
  account: Account,
  runProgram: RunProgram,
  handles: readonly EntryHandle[],
): Promise<ReadonlyMap<string, Rights>> {
  const byPath = new Map(handles.map((handle) => [handle.path, handle]));
  return inParts([...byPath.keys()], (some) =>
    askOfHandles(
      account,
      runProgram,
      some.flatMap((path) => byPath.get(path) ?? []),
    ),
  );
}

function askOfHandles(account: Account, runProgram: RunProgram, handles: readonly EntryHandle[]) {
  return ask(account, runProgram, {
    of: handles.map(({ path }) => path),
    shown: handles.map((_handle, index) => `/proc/self/fd/${FIRST_DESCRIPTOR + index}`),
    descriptors: handles.map(({ descriptor }) => descriptor),
  });
}

interface Asked {
  readonly of: readonly string[];
  /** The same, as the process finds them. */
  readonly shown: readonly string[];
  readonly descriptors: readonly number[];
}

async function ask(account: Account, runProgram: RunProgram, { of, shown, descriptors }: Asked) {
  if (of.length === 0) return [];
  const { userId, groupId, groupIds } = account;
  const groups = groupIds.length === 0 ? "--clear-groups" : `--groups=${groupIds.join(",")}`;
  const become = ["setpriv", `--reuid=${userId}`, `--regid=${groupId}`, groups, "--inh-caps=-all", "--no-new-privs"];
  const words = [...become, "sh", "-c", SCRIPT, "sh", ...shown];
  const result = await runProgram(words, { limitMs: JUDGE_LIMIT_MS, descriptors });
  const lines = result.kind === "ended" && result.exitCode === 0 ? result.stdout.trim().split("\n") : [];
  return of.flatMap((path, index) => {
    const line = lines[index] ?? "";
    return line === "" ? [] : [[path, { reads: line.includes("r"), enters: line.includes("x") }] as const];
  });
}

async function inParts<Answer>(
  paths: readonly string[],
  ask: (some: readonly string[]) => Promise<readonly (readonly [string, Answer])[]>,
): Promise<ReadonlyMap<string, Answer>> {
  const answers = new Map<string, Answer>();
  for (let start = 0; start < paths.length; start += PATHS_AT_ONCE) {
    for (const [path, answer] of await ask(paths.slice(start, start + PATHS_AT_ONCE))) answers.set(path, answer);
  }
  return answers;
}

/** Omits entries that were removed since the walk, or that a network drive refuses. */
function openOrSkip(path: string, stack: DisposableStack): readonly EntryHandle[] {
  try {
    return [stack.use(openEntry(path))];
  } catch {
    return [];
  }
}

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
  const home = target === null ? undefined : directories.find(({ path }) => path === dirname(target.path));
  const unlisted = home !== undefined && rights.get(home.path)?.reads === false ? obstacle(home, true) : null;
  if (whole.reads) return { kind: "readable", unlisted };
  const isDenied = code === "EACCES" || code === "EPERM";
  if (target === null && !isDenied) return { kind: "missing", code: code ?? "ENOENT" };
  const obstacles = directories
    .filter(({ path }) => rights.get(path)?.enters === false)
    .map((entry) => obstacle(entry, true));
  if (target !== null && rights.get(target.path)?.reads === false) obstacles.push(obstacle(target, false));
  return { kind: "blocked", obstacles, unlisted, isPartial: target === null };
}

function obstacle({ path, stat }: Entry, isDirectory: boolean): Obstacle {
  return { path, stat, isDirectory };
}
