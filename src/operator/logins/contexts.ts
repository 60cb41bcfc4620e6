/** The saved services of one user, and the file that keeps them. */
import { dirname, isAbsolute, join, resolve } from "node:path";

import * as z from "zod";

import { Secret } from "../../client/secret.ts";
import { readBounded, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { OperatorContext } from "../context.ts";
import { refuse } from "../refuse.ts";

const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

const loginSchema = z.object({
  token: z
    .string()
    .regex(/^[\u0021-\u007E]{1,4096}$/)
    .transform((token) => new Secret(token)),
  /** ISO 8601. */
  signed_in_at: z.string(),
  /** ISO 8601; null where the service does not say. */
  expires_at: z.string().nullable(),
  /** Name of the organization; null where the service does not say. */
  organization: z.string().nullable(),
});

const contextSchema = z.object({
  name: z.string().regex(NAME),
  url: z.string(),
  ca_file: z.string().nullable(),
  allow_insecure: z.boolean(),
  key_file: z.string().nullable(),
  login: loginSchema.nullable(),
});

const fileSchema = z.object({
  version: z.literal(1),
  current: z.string().regex(NAME).nullable(),
  contexts: z.array(contextSchema),
});

/** The result of `login`. */
export type Login = z.output<typeof loginSchema>;

/** A service under the name that the operator gave it. */
export type ServiceContext = z.output<typeof contextSchema>;

/** All contexts of one user. */
export interface Contexts {
  readonly all: readonly ServiceContext[];
  /** Name of the one that commands use by default; null for none. */
  readonly current: string | null;
}

export const NO_CONTEXTS: Contexts = { all: [], current: null };

const LIMIT_BYTES = 4_194_304;

/** Reads the contexts; none where there is no file yet. @returns a problem where the file cannot be used. */
export async function readContexts(context: OperatorContext): Promise<Contexts | Problem> {
  const path = contextsPath(context);
  if (path === null) return NO_HOME;
  const { machine, userId } = context;
  try {
    const bytes = await readBounded(machine.files, path, LIMIT_BYTES);
    if (await isExposed(machine.files, path, userId)) {
      return unusable(path, "other users can access the logins in it", ownFix(path, userId));
    }
    const text = bytes === "too-large" ? "" : new TextDecoder().decode(bytes);
    const read = fileSchema.safeParse(parseJson(text));
    if (read.success) return { all: read.data.contexts, current: read.data.current };
    const again = `rm ${shellWord(path)}, then robot-policy contexts add or login`;
    return unusable(path, "it is damaged, or was written by another version of this program", again);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    if (code === "ENOENT" || code === "ENOTDIR") return NO_CONTEXTS;
    return unusable(path, `it cannot be read (${code})`, code === "EACCES" ? ownFix(path, userId) : `check ${path}`);
  }
}

/** Writes atomically and durably. @returns null, or why it could not be written. */
export async function saveContexts({ all, current }: Contexts, context: OperatorContext): Promise<Problem | null> {
  const path = contextsPath(context);
  if (path === null) return NO_HOME;
  const { files } = context.machine;
  const contexts = all
    .map((each) => ({ ...each, login: each.login && { ...each.login, token: each.login.token.reveal() } }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const text = `${JSON.stringify({ version: 1, current, contexts }, null, 2)}\n`;
  try {
    await files.makeDirectory(dirname(path), 0o700);
    await replaceDurably(files, path, new TextEncoder().encode(text), 0o600);
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const fix = "free disk space or correct the permissions, or set XDG_CONFIG_HOME to another folder";
    return { code: "context-not-saved", what: `cannot write ${path} (${code})`, where: path, fix };
  }
}

/** The contexts with this one in place of that of its name. */
export function withContext({ all, current }: Contexts, added: ServiceContext): Contexts {
  return { all: [...all.filter(({ name }) => name !== added.name), added], current };
}

/** Why this is no name for a context; null for a valid one. */
export function nameProblem(name: string): Problem | null {
  if (NAME.test(name)) return null;
  const fix = "use at most 64 letters, digits, dots, dashes and underscores, starting with a letter or digit";
  return { code: "usage", what: `'${name}' is not a valid name for a context`, fix };
}

/** Contexts store absolute paths, because they are used from any folder. */
export function absolute(path: string | undefined): string | null {
  return path === undefined ? null : resolve(path);
}

const EXIT_CODES: ReadonlyMap<string, ExitCode> = new Map([
  ["no-home", EXIT.failed],
  ["context-not-saved", EXIT.failed],
  ["context-taken", EXIT.conflict],
]);

/** Reports why the contexts are not used or changed. */
export function refuseContexts(problem: Problem, terminal: Terminal): ExitCode {
  return refuse(problem, EXIT_CODES.get(problem.code) ?? EXIT.usage, terminal);
}

/** For a user without a home directory, such as a system user. */
const NO_HOME: Problem = {
  code: "no-home",
  what: "there is no folder to keep contexts in",
  fix: "set HOME or XDG_CONFIG_HOME; or use --url URL and --key-file FILE, ROBOT_POLICY_URL and ROBOT_POLICY_API_KEY",
};

/** `$XDG_CONFIG_HOME/robot-policy/contexts.json`, else below `~/.config`; null for a user without a home directory. */
function contextsPath({ environment }: OperatorContext): string | null {
  const { XDG_CONFIG_HOME = "", HOME = "" } = environment;
  // A relative path must be ignored (XDG Base Directory Specification).
  const folder = isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : isAbsolute(HOME) ? join(HOME, ".config") : null;
  return folder === null ? null : join(folder, "robot-policy", "contexts.json");
}

/** Whether another user may read or replace the file. */
async function isExposed(files: Files, path: string, userId: number): Promise<boolean> {
  const [folder, file] = [await files.stat(dirname(path)), await files.stat(path)];
  const isForeign = [folder, file].some(({ userId: owner }) => userId !== 0 && owner !== userId && owner !== 0);
  // Of the folder only write access matters: the file has its own mode.
  return isForeign || (folder.mode & 0o022) !== 0 || (file.mode & 0o077) !== 0;
}

/** Only root may take a file from another user. */
function ownFix(path: string, userId: number): string {
  const folder = shellWord(dirname(path));
  return `sudo chown -R ${userId} ${folder}; chmod -R go= ${folder}`;
}

function unusable(path: string, why: string, fix: string): Problem {
  return { code: "context-unusable", what: `cannot use ${path}: ${why}`, where: path, fix };
}
