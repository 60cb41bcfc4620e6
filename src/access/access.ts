/**
 * Finds out whether a user can read a path, and which entries to open for them.
 *
 * The kernel decides, by modes, access lists, security modules and network drives; and only a process of that user gets the real answer.
 */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";

import { FIRST_DESCRIPTOR, type RunProgram } from "../platform/programs.ts";
import type { Account } from "./account.ts";
import { OpenEntries, type OpenedPath, type OpenEntry, openPath } from "./open-path.ts";

export type Access =
  | { readonly kind: "readable" }
  | {
      readonly kind: "blocked";
      /**
       * Entries on which the user lacks a right, from the root down. Empty when the kernel denies access although modes and owners allow it.
       */
      readonly obstacles: readonly Pick<OpenEntry, "path" | "stat">[];
      /** True when this process cannot see below the last obstacle. */
      readonly isPartial: boolean;
    }
  /** The path is missing, or access could not be checked as that user. */
  | { readonly kind: "unknown" };

/** For each absolute path, whether the probe's user can read it, and the obstacles. */
export async function explainAccess(
  probe: AccessProbe,
  paths: readonly string[],
): Promise<ReadonlyMap<string, Access>> {
  await using opened = new OpenEntries();
  const examined = await examinePaths(probe, paths, opened);
  return new Map([...examined].map(([path, each]) => [path, accessOf(each)]));
}

/** Rights on an entry: `reads` a file or lists a folder; `enters` a folder. */
export interface Rights {
  readonly reads: boolean;
  readonly enters: boolean;
}

export interface ExaminedPath extends OpenedPath {
  /** On the whole path, with all folders above; undefined where the kernel could not be asked. */
  readonly whole: Rights | undefined;
  /** On each entry alone, whatever the folders above allow. */
  readonly rights: ReadonlyMap<OpenEntry, Rights>;
}

/** Opens the paths and asks for the user's rights on everything that they pass. @param opened owns the entries. */
export async function examinePaths(
  probe: AccessProbe,
  paths: readonly string[],
  opened: OpenEntries,
): Promise<ReadonlyMap<string, ExaminedPath>> {
  const ways = new Map<string, OpenedPath>();
  for (const path of new Set(paths)) ways.set(path, await openPath(path, opened));
  const passed = new Set([...ways.values()].flatMap((way) => way.passed));
  const entries = [...passed].filter(({ stat }) => stat.kind !== "link");
  const answers = await probe([...ways.keys()], entries);
  const rights = new Map(
    entries.flatMap((entry, index) => {
      const answer = answers[ways.size + index];
      return answer === undefined ? [] : [[entry, answer] as const];
    }),
  );
  return new Map([...ways].map(([path, way], index) => [path, { ...way, whole: answers[index], rights }]));
}

/** The folder of the file itself; undefined where the path did not lead to a file. */
export function folderOf({ passed, target }: OpenedPath): OpenEntry | undefined {
  return target === null ? undefined : passed.find(({ path }) => path === dirname(target.path));
}

function accessOf(examined: ExaminedPath): Access {
  const { passed, target, code, whole, rights } = examined;
  if (whole?.reads === true) return { kind: "readable" };
  const isMissing = target === null && code !== "EACCES" && code !== "EPERM";
  if (whole === undefined || isMissing) return { kind: "unknown" };
  const obstacles = [...new Set(passed)].filter((entry) =>
    entry === target ? rights.get(entry)?.reads === false : rights.get(entry)?.enters === false,
  );
  return { kind: "blocked", obstacles, isPartial: target === null };
}

/** Asks the kernel what one user may do: first with the paths, then with each entry alone. @returns nothing where it cannot be asked. */
export type AccessProbe = (paths: readonly string[], entries: readonly OpenEntry[]) => Promise<readonly Rights[]>;

/** Asks for the user of this process. */
export const probeAsSelf: AccessProbe = (paths, entries) => {
  const may = (path: string, mode: number) =>
    access(path, mode).then(
      () => true,
      () => false,
    );
  const shown = [...paths, ...entries.map(({ descriptor }) => `/proc/self/fd/${descriptor}`)];
  return Promise.all(
    shown.map(async (path) => ({ reads: await may(path, constants.R_OK), enters: await may(path, constants.X_OK) })),
  );
};

const PROBE_LIMIT_MS = 5000;
/** access(2) by the shell, and nothing opened: a FIFO would hang it. */
const SCRIPT = `for path do
  if [ -r "$path" ]; then r=r; else r=-; fi
  if [ -x "$path" ]; then x=x; else x=-; fi
  echo "$r$x"
done`;

/** Asks for another user, in one process of that user. Needs root, setpriv(1) and `/proc`. */
export function probeAs({ userId, groupId, groupIds }: Account, runProgram: RunProgram): AccessProbe {
  const groups = groupIds.length === 0 ? "--clear-groups" : `--groups=${groupIds.join(",")}`;
  const become = ["setpriv", `--reuid=${userId}`, `--regid=${groupId}`, groups, "--inh-caps=-all", "--no-new-privs"];
  return async (paths, entries) => {
    const shown = [...paths, ...entries.map((_entry, index) => `/proc/self/fd/${FIRST_DESCRIPTOR + index}`)];
    if (shown.length === 0) return [];
    // xargs(1) keeps to the kernel's limit of arguments.
    const result = await runProgram([...become, "xargs", "-0", "sh", "-c", SCRIPT, "sh"], {
      limitMs: PROBE_LIMIT_MS,
      input: shown.join("\0"),
      descriptors: entries.map(({ descriptor }) => descriptor),
    });
    const lines = result.kind === "ended" && result.exitCode === 0 ? result.stdout.trimEnd().split("\n") : [];
    if (lines.length !== shown.length) return [];
    return lines.map((line) => ({ reads: line.startsWith("r"), enters: line.endsWith("x") }));
  };
}
