/** Asks the kernel what a user may do with a path: it decides by modes, ACLs, security modules and network drives. */
import { access, constants } from "node:fs";

import { type EntryHandle, openEntry } from "../platform/files/entry-handle.ts";
import { exists, type Files } from "../platform/files/files.ts";
import { FIRST_DESCRIPTOR, type RunProgram } from "../platform/programs.ts";
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
