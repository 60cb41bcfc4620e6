/**
 * Access control lists (acl(5)), read by getfacl(1) and changed by setfacl(1): Node has no API for them.
 *
 * A mask limits what a list gives to groups and named users, and a wider one would give them more. So whoever is limited gets the rights that
 * the mask leaves, before setfacl computes the mask anew: nobody gains anything by a change.
 */
import type { OpenEntry } from "../../access/open-path.ts";
import { FIRST_DESCRIPTOR, type RunProgram } from "../../platform/programs.ts";
import type { Problem } from "../../platform/terminal.ts";

/** Read, write, and execute or enter, as in `r-x`. */
export type Permissions = string;

export interface AclEntry {
  /** `d:` in the default list of a folder, which new entries inherit. */
  readonly list: "" | "d:";
  /** As setfacl takes it: `u:`, `u:1000`, `g:`, `g:44`, `o:`. */
  readonly who: string;
  readonly written: Permissions;
  /** The permissions that the mask of the list leaves. */
  readonly effective: Permissions;
}

/** Both lists of an entry, without their masks. */
export type Acl = readonly AclEntry[];

/** What a grant did to the default list of a folder: nothing, an entry added to it, or the list made. */
export type NewFiles = "none" | "added" | "created";

export const NOTHING: Permissions = "---";
const LINE = /^(default:)?(user|group|mask|other):(\d*):([r-][w-][x-])(?:\s+#effective:([r-][w-][x-]))?$/;

/** Parses the entries of one file in the output of getfacl. @returns null where it cannot be parsed. */
function parseAcl(text: string): Acl | null {
  const acl: AclEntry[] = [];
  for (const line of text.split("\n").filter((each) => each !== "" && !each.startsWith("#"))) {
    const [, isDefault, kind = "", id = "", written = "", effective = written] = LINE.exec(line) ?? [];
    if (kind === "") return null;
    const list = isDefault === undefined ? "" : "d:";
    if (kind !== "mask") acl.push({ list, who: `${kind.charAt(0)}:${id}`, written, effective });
  }
  return acl.length < 3 ? null : acl;
}

/** The effective rights that the list names for `who`, such as `u:1000`; `---` without an entry. */
export function rightsOf(acl: Acl, list: AclEntry["list"], who: string): Permissions {
  return acl.find((entry) => entry.list === list && entry.who === who)?.effective ?? NOTHING;
}

/** The entries for `setfacl --modify` that give the user these rights, beside those that it has. */
export function grantEntries(acl: Acl, list: AclEntry["list"], userId: number, right: Permissions): readonly string[] {
  const who = `u:${userId}`;
  const others = acl.filter((entry) => entry.list === list && entry.who !== who);
  const limited = others.filter(({ written, effective }) => written !== effective);
  return [`${list}${who}:${union(rightsOf(acl, list, who), right)}`, ...limited.map(textOf)];
}

/**
 * The default list that lets the user read new files in a folder. A default list replaces the umask (acl(5)), so a new one gives group and
 * others what they may do with the file that is there.
 */
export function newFilesEntries(folder: Acl, file: Acl, userId: number): readonly string[] {
  if (hasDefault(folder)) return grantEntries(folder, "d:", userId, "r--");
  // Who may read the file may also enter new folders. New files do not become executable: open(2) has its own mode.
  const like = (who: string) => rightsOf(file, "", who).replace(/^r(.).$/, "r$1x");
  return ["d:u::rwx", `d:g::${like("g:")}`, `d:o::${like("o:")}`, `d:u:${userId}:r--`];
}

export function hasDefault(acl: Acl): boolean {
  return acl.some(({ list }) => list === "d:");
}

/** The words for setfacl that take the user's entry out of the access list, or leave what it still has of its rights before the grant. */
export function revokeWords(acl: Acl, userId: number, before: Permissions): readonly string[] {
  const who = `u:${userId}`;
  const own = acl.find((entry) => entry.list === "" && entry.who === who);
  if (own === undefined || (before !== NOTHING && own.effective === before)) return [];
  const others = acl.filter((entry) => entry.list === "" && entry !== own).map(textOf);
  const kept = [...before].map((letter, index) => (own.effective.charAt(index) === letter ? letter : "-")).join("");
  return [`--set=${[...others, ...(kept === NOTHING ? [] : [`${who}:${kept}`])].join(",")}`];
}

/** As `revokeWords`, for the default list. One that a grant made goes, unless it serves others by now. */
export function revokeDefaultWords(acl: Acl, userId: number, newFiles: NewFiles): readonly string[] {
  const all = acl.filter(({ list }) => list === "d:");
  const left = all.filter(({ who }) => who !== `u:${userId}`);
  if (left.length === all.length) return [];
  const servesOthers = newFiles !== "created" || left.some(({ who }) => !who.endsWith(":"));
  return ["--remove-default", ...(servesOthers ? [`--modify=${left.map(textOf).join(",")}`] : [])];
}

function textOf({ list, who, effective }: AclEntry): string {
  return `${list}${who}:${effective}`;
}

/** The rights that one or the other has. */
export function union(one: Permissions, other: Permissions): Permissions {
  return [...one].map((letter, index) => (letter === "-" ? other.charAt(index) : letter)).join("");
}

const INSTALL_ACL = "install the package acl, or use another method: --method owner";

/** @returns the lists of all entries, or the problem that prevents it. */
export async function readAcls(
  runProgram: RunProgram,
  entries: readonly OpenEntry[],
): Promise<ReadonlyMap<OpenEntry, Acl> | Problem> {
  const shown = entries.map((_entry, index) => `/proc/self/fd/${FIRST_DESCRIPTOR + index}`);
  const result = await runProgram(["getfacl", "--absolute-names", "--numeric", "--", ...shown], {
    descriptors: entries.map(({ descriptor }) => descriptor),
  });
  if (result.kind === "missing")
    return { code: "acl-missing", what: "this machine has no getfacl and setfacl", fix: INSTALL_ACL };
  const blocks = result.kind === "ended" ? result.stdout.split("\n\n") : [];
  const acls = new Map<OpenEntry, Acl>();
  for (const [index, entry] of entries.entries()) {
    const acl = parseAcl(blocks.find((block) => block.startsWith(`# file: ${shown[index]}\n`)) ?? "");
    if (acl === null)
      return { code: "acl-unreadable", what: "its access list cannot be read", where: entry.path, fix: INSTALL_ACL };
    acls.set(entry, acl);
  }
  return acls;
}

/** @param words for setfacl; without any, nothing changes. @returns what went wrong, or null. */
export async function changeAcl(
  runProgram: RunProgram,
  entry: OpenEntry,
  words: readonly string[],
): Promise<Problem | null> {
  if (words.length === 0) return null;
  const shown = `/proc/self/fd/${FIRST_DESCRIPTOR}`;
  const result = await runProgram(["setfacl", ...words, "--", shown], { descriptors: [entry.descriptor] });
  if (result.kind === "ended" && result.exitCode === 0) return null;
  const reason = result.kind === "ended" ? (result.stderr.trim().split(": ").at(-1) ?? "") : result.kind;
  const fix = "its filesystem may be read-only, or have no access lists; if so: --method owner";
  return { code: "grant-failed", what: `setfacl cannot change it (${reason})`, where: entry.path, fix };
}
