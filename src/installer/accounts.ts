/** The service user in the files of passwd(5), group(5) and shadow(5). Pure: texts in, texts out. */

/** A user of the service as the system knows it. */
export interface Account {
  readonly user_id: number;
  readonly group_id: number;
}

/** Each null where the image has no such file. */
export interface AccountFiles {
  readonly passwd: string | null;
  readonly group: string | null;
  readonly shadow: string | null;
  readonly gshadow: string | null;
}

export const ACCOUNT_PATHS = {
  passwd: "/etc/passwd",
  group: "/etc/group",
  shadow: "/etc/shadow",
  gshadow: "/etc/gshadow",
} as const;

/** Where systemd-sysusers(8) and adduser look for a free number, from the top. */
const LAST_SYSTEM_ID = 999;
const FIRST_SYSTEM_ID = 100;

/** Nobody can log in as it. */
const NO_HOME = "/nonexistent";
const NO_SHELL = "/usr/sbin/nologin";
const NO_PASSWORD = "!*";

/** @returns null when the text of passwd(5) has no such user. */
export function findAccount(passwd: string, name: string): Account | null {
  const fields = rows(passwd).find(([first]) => first === name);
  const user_id = parseId(fields?.[2]);
  const group_id = parseId(fields?.[3]);
  return user_id === null || group_id === null ? null : { user_id, group_id };
}

/**
 * The files with a system user and a group of that name; a file that is not there stays so. The same files give the same texts: no
 * date of the day is written.
 *
 * @returns null when no number is free for it, or the image keeps no users in files: its systemd-sysusers makes them as it boots.
 */
export function addAccount(files: AccountFiles, name: string, description: string): AccountFiles | null {
  const { passwd, group, shadow, gshadow } = files;
  if (passwd === null || group === null) return null;
  if (has(passwd, name)) return files;
  const known_group = rows(group).find(([first]) => first === name);
  const taken = new Set([...rows(passwd), ...rows(group)].map(([, , id]) => parseId(id)));
  const known_id = parseId(known_group?.[2]);
  const id = known_id ?? freeId(taken);
  if (id === null) return null;
  // A group that is there already has a number that some user may have too.
  const user_id =
    known_id !== null && rows(passwd).some(([, , each]) => parseId(each) === known_id) ? freeId(taken) : id;
  if (user_id === null) return null;
  return {
    passwd: withLine(passwd, `${name}:x:${user_id}:${id}:${description}:${NO_HOME}:${NO_SHELL}`),
    group: known_group === undefined ? withLine(group, `${name}:x:${id}:`) : group,
    shadow: shadow === null || has(shadow, name) ? shadow : withLine(shadow, `${name}:${NO_PASSWORD}:::::::`),
    gshadow: gshadow === null || has(gshadow, name) ? gshadow : withLine(gshadow, `${name}:${NO_PASSWORD}::`),
  };
}

/** The files without that user and group. Members of other groups stay: nobody but a person makes the service user one. */
export function removeAccount(files: AccountFiles, name: string): AccountFiles {
  const without = (text: string | null) =>
    text === null
      ? null
      : text
          .split("\n")
          .filter((line) => !line.startsWith(`${name}:`))
          .join("\n");
  return {
    passwd: without(files.passwd),
    group: without(files.group),
    shadow: without(files.shadow),
    gshadow: without(files.gshadow),
  };
}

function rows(text: string): readonly (readonly string[])[] {
  return text.split("\n").map((line) => line.split(":"));
}

function has(text: string, name: string): boolean {
  return rows(text).some(([first]) => first === name);
}

function parseId(field: string | undefined): number | null {
  return field !== undefined && /^\d{1,10}$/.test(field) ? Number(field) : null;
}

function freeId(taken: ReadonlySet<number | null>): number | null {
  for (let id = LAST_SYSTEM_ID; id >= FIRST_SYSTEM_ID; id -= 1) if (!taken.has(id)) return id;
  return null;
}

function withLine(text: string, line: string): string {
  const separator = text === "" || text.endsWith("\n") ? "" : "\n";
  return `${text}${separator}${line}\n`;
}
