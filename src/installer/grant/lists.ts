/** Access control lists of open entries, through getfacl(1) and setfacl(1): Node has no API for them. */
import type { EntryHandle } from "../../platform/files/entry-handle.ts";
import { FIRST_DESCRIPTOR, type RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";
import { type EntryLists, parseLists } from "./acl.ts";

export interface Listed {
  /** As getfacl printed them. */
  readonly text: string;
  readonly lists: EntryLists;
}

export type ReadLists =
  | { readonly kind: "lists"; readonly of: ReadonlyMap<string, Listed> }
  /** @property ofMachine no access list can be read on this machine. */
  | { readonly kind: "refused"; readonly what: string; readonly fix: string; readonly ofMachine: boolean };

const HANDLES_AT_ONCE = 32;

export async function readLists(runProgram: RunProgram, handles: readonly EntryHandle[]): Promise<ReadLists> {
  const of = new Map<string, Listed>();
  for (let start = 0; start < handles.length; start += HANDLES_AT_ONCE) {
    const some = handles.slice(start, start + HANDLES_AT_ONCE);
    const shown = some.map((_handle, index) => `/proc/self/fd/${FIRST_DESCRIPTOR + index}`);
    const words = ["getfacl", "--omit-header", "--absolute-names", "--numeric", "--no-effective", "--", ...shown];
    const result = await runProgram(words, { descriptors: some.map(({ descriptor }) => descriptor) });
    if (result.kind === "missing") return refuse("this machine has no getfacl and setfacl", true);
    if (result.kind !== "ended" || result.exitCode !== 0) return refuse("getfacl cannot read the access lists");
    const blocks = result.stdout.split("\n\n");
    for (const [index, { path }] of some.entries()) {
      const text = `${blocks[index] ?? ""}\n`;
      const lists = parseLists(text);
      if (lists === null) return refuse(`the access list of ${path} cannot be parsed`);
      of.set(path, { text, lists });
    }
  }
  return { kind: "lists", of };
}

function refuse(what: string, ofMachine = false): ReadLists {
  return {
    kind: "refused",
    what,
    ofMachine,
    fix: "install the package acl, or use another method: --method owner",
  };
}

/** Of one entry; null where it cannot be read. */
export async function readListsOf(runProgram: RunProgram, entry: EntryHandle): Promise<Listed | null> {
  const read = await readLists(runProgram, [entry]);
  return read.kind === "lists" ? (read.of.get(entry.path) ?? null) : null;
}

/**
 * In one call, so that a list has either its old or its new entries.
 *
 * @param words for setfacl; without any, nothing changes. @returns what went wrong, or null.
 */
export async function changeLists(
  runProgram: RunProgram,
  entry: EntryHandle,
  words: readonly string[],
): Promise<Problem | null> {
  if (words.length === 0) return null;
  const handed = `/proc/self/fd/${FIRST_DESCRIPTOR}`;
  const result = await runProgram(["setfacl", "--no-mask", ...words, "--", handed], {
    descriptors: [entry.descriptor],
  });
  if (result.kind === "ended" && result.exitCode === 0) return null;
  const said = result.kind === "ended" ? (result.stderr.trim().split(": ").at(-1) ?? "") : result.kind;
  const what = `setfacl cannot change ${entry.path} (${said})`;
  const fix =
    said === "Operation not supported"
      ? "this filesystem has no access lists: --method owner"
      : "check whether the filesystem is mounted read-only: mount";
  return { code: "grant-failed", what, where: entry.path, fix };
}
