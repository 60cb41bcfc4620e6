/**
 * What keeps a user from reading a path.
 *
 * The kernel is the judge: modes, ACLs, security modules and network drives all have a say, and only a process of that user hears it.
 * The walk along the path only explains the judgement, and names the places that a person has to open.
 */
import { access, constants } from "node:fs";
import { dirname, join, resolve } from "node:path";

import type { EntryHandle } from "../platform/files/entry-handle.ts";
import { openEntry } from "../platform/files/entry-handle.ts";
import type { FileStat, Files } from "../platform/files/files.ts";
import { errorCode } from "../platform/files/files.ts";
import type { RunProgram } from "../platform/programs.ts";
import { FIRST_DESCRIPTOR } from "../platform/programs.ts";
import type { Account } from "./account.ts";

/** What a user may do with an entry: read a file or list a folder; enter a folder. */
export interface Rights {
  readonly reads: boolean;
  readonly enters: boolean;
}

/** Asks the kernel what one user may do. What it could not be asked about is left out of the answers. */
export interface AccessJudge {
  /** By the whole path, as the user would go it. */
  byPath(paths: readonly string[]): Promise<ReadonlyMap<string, Rights>>;
  /** Of each entry alone, as if everything above it were open. The paths hold no links. */
  byEntry(paths: readonly string[]): Promise<ReadonlyMap<string, Rights>>;
}

/** An entry on the way that does not let the user pass. */
export interface Obstacle {
  readonly path: string;
  readonly isDirectory: boolean;
  readonly stat: FileStat;
}

export type Access =
  | {
      readonly kind: "readable";
      /** The file's own folder where the user cannot list it: then the kernel does not tell it of changes there. */
      readonly unlisted: Obstacle | null;
    }
  | {
      readonly kind: "blocked";
      /** From the top; empty where the kernel says no and no mode or owner explains it. */
      readonly obstacles: readonly Obstacle[];
      readonly unlisted: Obstacle | null;
      /** This process cannot see behind the last obstacle itself. */
      readonly isPartial: boolean;
    }
  /** The path leads nowhere, in a circle, or is too long: the system's code. */
  | { readonly kind: "missing"; readonly code: string }
  /** The kernel could not be asked as that user. */
  | { readonly kind: "unjudged" };

/** Judges as the user of this process. */
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

/** Ends well below the limits on the arguments (execve(2)) and the open files of a program. */
const PATHS_AT_ONCE = 32;
const JUDGE_LIMIT_MS = 5000;
/** access(2) by the shell, and nothing opened: a FIFO would hang it. */
const SCRIPT = `for path do
  if [ -r "$path" ]; then r=r; else r=-; fi
  if [ -x "$path" ]; then x=x; else x=-; fi
  echo "$r$x"
done`;

/** Whether proc(5) is there, which shows a process of another user the entries that are open here. A chroot may be without. */
export async function hasProc(files: Pick<Files, "stat">): Promise<boolean> {
  return files.stat("/proc/self/fd").then(
    () => true,
    () => false,
  );
}

/** Judges as another user, by a process of that user. For root. */
export function judgeAs(account: Account, runProgram: RunProgram): AccessJudge {
  return {
    byPath: (paths) => inParts(paths, (some) => ask(account, runProgram, { of: some, shown: some, descriptors: [] })),
    byEntry: (paths) =>
      inParts(paths, async (some) => {
        using stack = new DisposableStack();
        // Awaited here: returning closes the handles.
        return await askOfHandles(
          account,
          runProgram,
          some.flatMap((path) => openOrSkip(path, stack)),
        );
      }),
  };
}

/** What the user may do with entries that are open here, by path. */
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
  const { user_id: userId, group_id: groupId, group_ids: groupIds } = account;
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

/** Gone since the walk, or behind a network drive's refusal: then nothing can be said of it. */
function openOrSkip(path: string, stack: DisposableStack): readonly EntryHandle[] {
  try {
    return [stack.use(openEntry(path))];
  } catch {
    return [];
  }
}

/** Whether the judge's user can read each path, and what is in the way. Paths are absolute. */
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

/** The entries that the kernel passes through, links resolved. */
interface Walk {
  readonly directories: readonly Entry[];
  /** What the path leads to in the end; null where the walk ended before. */
  readonly target: Entry | null;
  /** Why it ended. */
  readonly code: string | null;
}

/** As the kernel's own limit (path_resolution(7)). */
const LINK_LIMIT = 40;
/** Of one path, links included. */
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
        // `directory` holds no links any more, so that the target's `..` may be resolved by name.
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

function components(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}
