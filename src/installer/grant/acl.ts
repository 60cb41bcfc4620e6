/** Access control lists as getfacl(1) prints them and setfacl(1) takes them (acl(5)). Pure. */

/** Bits as in a mode: read 4, write 2, execute 1. */
export type Permissions = number;

/** The access list of an entry, or the default list of a folder, which new entries inherit. */
export interface AccessList {
  readonly owner: Permissions;
  readonly group: Permissions;
  readonly other: Permissions;
  /** null where the list names no user or group. */
  readonly mask: Permissions | null;
  /** `u:1000` or `g:1000` → permissions, before the mask. */
  readonly named: ReadonlyMap<string, Permissions>;
}

export interface EntryLists {
  readonly access: AccessList;
  readonly default: AccessList | null;
}

const READ = 4;
const WRITE = 2;
const EXECUTE = 1;
export const PERMISSIONS = { read: READ, write: WRITE, execute: EXECUTE } as const;

/** Parses one block of `getfacl --omit-header --numeric --no-effective`. @returns null where it cannot be parsed. */
export function parseLists(text: string): EntryLists | null {
  const lines = text.split("\n").filter((line) => line !== "");
  const access = parseList(lines.filter((line) => !line.startsWith("default:")));
  if (access === null) return null;
  const preset = lines.filter((line) => line.startsWith("default:")).map((line) => line.slice("default:".length));
  return { access, default: preset.length === 0 ? null : parseList(preset) };
}

function parseList(lines: readonly string[]): AccessList | null {
  const entries = new Map<string, Permissions>();
  for (const line of lines) {
    const [, kind = "", id = "", permissions = ""] = /^(user|group|mask|other):(\d*):([r-][w-][x-])$/.exec(line) ?? [];
    if (kind === "") return null;
    entries.set(`${kind[0]}:${id}`, parsePermissions(permissions));
  }
  const [owner, group, other] = [entries.get("u:"), entries.get("g:"), entries.get("o:")];
  if (owner === undefined || group === undefined || other === undefined) return null;
  const named = new Map([...entries].filter(([key]) => !key.endsWith(":")));
  return { owner, group, other, mask: entries.get("m:") ?? null, named };
}

/**
 * The setfacl entries that give the user `wanted` and nobody else a new right: a wider mask would enable rights in other entries that the
 * old mask disabled, so those entries are reduced to their effective rights.
 *
 * @returns entries for `setfacl --no-mask --modify`.
 */
export function grantEntries(list: AccessList, userId: number, wanted: Permissions): readonly string[] {
  const key = `u:${userId}`;
  const oldMask = list.mask ?? list.group;
  const others = [["g:", list.group] as const, ...list.named].filter(([each]) => each !== key);
  const mine = ((list.named.get(key) ?? 0) & oldMask) | wanted;
  const mask = oldMask | mine;
  const cut = others
    .filter(([, permissions]) => (permissions & mask) !== (permissions & oldMask))
    .map(([each, permissions]) => entry(each, permissions & oldMask));
  return [entry(key, mine), ...cut, entry("m:", mask)];
}

/**
 * The default list that lets the user read new files in a folder. A default list replaces the umask (acl(5)), so a new list gives group and
 * others the same rights as the existing file does.
 */
export function defaultEntries(list: AccessList | null, userId: number, likeMode: number): readonly string[] {
  if (list !== null) return grantEntries(list, userId, READ).map((each) => `d:${each}`);
  const group = withEntering((likeMode >> 3) & 7);
  const other = withEntering(likeMode & 7);
  const entries = [
    entry("u:", 7),
    entry("g:", group),
    entry("o:", other),
    entry(`u:${userId}`, READ),
    entry("m:", group | READ),
  ];
  return entries.map((each) => `d:${each}`);
}

/** The whole list, for `setfacl --set`. */
export function listEntries({ owner, group, other, mask, named }: AccessList): readonly string[] {
  return [
    entry("u:", owner),
    entry("g:", group),
    entry("o:", other),
    ...(mask === null ? [] : [entry("m:", mask)]),
    ...[...named].map(([key, permissions]) => entry(key, permissions)),
  ];
}

/** Arguments of the setfacl call that revokes a grant. */
export function changesBack(now: EntryLists, before: EntryLists, after: EntryLists, userId: number): readonly string[] {
  return [
    ...(sameLists(now.access, after.access)
      ? [`--set=${listEntries(before.access).join(",")}`]
      : withoutUser(now.access, userId, "")),
    ...defaultsBack(now.default, before.default, after.default, userId),
  ];
}

/** As `changesBack`, for the default list alone. */
export function defaultsBack(
  now: AccessList | null,
  before: AccessList | null,
  after: AccessList | null,
  userId: number,
): readonly string[] {
  if (now === null) return [];
  if (!sameLists(now, after)) return withoutUser(now, userId, "d:");
  if (before === null) return ["--remove-default"];
  const restored = listEntries(before).map((each) => `d:${each}`);
  return ["--remove-default", `--modify=${restored.join(",")}`];
}

/** Arguments of the setfacl call that removes the user's entry; empty without one. */
export function withoutUser(list: AccessList, userId: number, prefix: "" | "d:"): readonly string[] {
  const { named, group, mask } = list;
  if (!named.has(`u:${userId}`)) return [];
  const removed = `--remove=${prefix}u:${userId}`;
  if (named.size > 1 || mask === null) return [removed];
  // The last named entry is gone, so the mask goes too. Its limit on the group moves into the group's entry.
  return [removed, `--modify=${prefix}g::${permissionsText(group & mask)}`, `--remove=${prefix}m`];
}

function sameLists(one: AccessList | null, other: AccessList | null): boolean {
  const text = (list: AccessList | null) => (list === null ? "" : listEntries(list).toSorted().join());
  return text(one) === text(other);
}

/** Who may read the file may also enter new folders. New files do not become executable: open(2) masks with its own mode. */
function withEntering(permissions: Permissions): Permissions {
  return (permissions & READ) === 0 ? permissions : permissions | EXECUTE;
}

function entry(key: string, permissions: Permissions): string {
  const [kind, id = ""] = key.split(":");
  const separator = id === "" ? "::" : `:${id}:`;
  return `${kind}${separator}${permissionsText(permissions)}`;
}

export function permissionsText(permissions: Permissions): string {
  return `${(permissions & READ) === 0 ? "-" : "r"}${(permissions & WRITE) === 0 ? "-" : "w"}${(permissions & EXECUTE) === 0 ? "-" : "x"}`;
}

function parsePermissions(text: string): Permissions {
  return (text[0] === "r" ? READ : 0) | (text[1] === "w" ? WRITE : 0) | (text[2] === "x" ? EXECUTE : 0);
}
