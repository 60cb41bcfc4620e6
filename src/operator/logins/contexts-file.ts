import { dirname, isAbsolute, join, resolve } from "node:path";

import * as z from "zod";

import { Secret } from "../../client/secret.ts";
import { readBounded, replaceDurably } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Problem } from "../../platform/terminal.ts";
import { parseJson } from "../../platform/text/parse-json.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import type { OperatorContext } from "../context.ts";

/** A service under the name that the operator gave it. */
export interface ServiceContext {
  readonly name: string;
  readonly url: string;
  readonly ca_file: string | null;
  readonly allow_insecure: boolean;
  readonly key_file: string | null;
  readonly login: Login | null;
}

/** The result of `login`. */
export interface Login {
  readonly token: Secret;
  /** ISO 8601. */
  readonly signed_in_at: string;
  /** ISO 8601; null where the service does not say. */
  readonly expires_at: string | null;
  /** Name of the organization; null where the service does not say. */
  readonly organization: string | null;
}

/** All contexts of one user. */
export interface Contexts {
  /** Sorted by name. */
  readonly all: readonly ServiceContext[];
  /** Name of the one that commands use by default; null for none. */
  readonly current: string | null;
}

export const NO_CONTEXTS: Contexts = { all: [], current: null };

export const CONTEXT_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

const LIMIT_BYTES = 4_194_304;
const MODE = { folder: 0o700, file: 0o600 } as const;

const contextSchema = z.object({
  name: z.string().regex(CONTEXT_NAME),
  url: z.string(),
  ca_file: z.string().nullable(),
  allow_insecure: z.boolean(),
  key_file: z.string().nullable(),
  login: z
    .object({
      token: z
        .string()
        .min(1)
        .max(4096)
        .regex(/^[\u0021-\u007E]+$/)
        .transform((token) => new Secret(token)),
      signed_in_at: z.string(),
      expires_at: z.string().nullable(),
      organization: z.string().nullable(),
    })
    .nullable(),
});

const fileSchema = z.object({
  version: z.literal(1),
  current: z.string().regex(CONTEXT_NAME).nullable(),
  contexts: z.array(contextSchema),
});

/** `$XDG_CONFIG_HOME/robot-policy/contexts.json`, else below `~/.config`; null for a user without a home directory. */
export function contextsPath({ environment }: OperatorContext): string | null {
  const { XDG_CONFIG_HOME = "", HOME = "" } = environment;
  // A relative path must be ignored (XDG Base Directory Specification).
  const folder = isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : isAbsolute(HOME) ? join(HOME, ".config") : null;
  return folder === null ? null : join(folder, "robot-policy", "contexts.json");
}

/** Reads the contexts; none where there is no file yet. @returns a problem where the file cannot be used. */
export async function readContexts(context: OperatorContext): Promise<Contexts | Problem> {
  const path = contextsPath(context);
  if (path === null) return NO_HOME;
  const { machine, userId } = context;
  try {
    const bytes = await readBounded(machine.files, path, LIMIT_BYTES);
    const exposed = await findExposure(machine.files, path, userId);
    if (exposed !== null) return exposed;
    if (bytes === "too-large") return unusable(path, `it is larger than ${LIMIT_BYTES} bytes`, `rm ${shellWord(path)}`);
    const read = fileSchema.safeParse(parseJson(new TextDecoder().decode(bytes)));
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
  const contexts = all.map(({ login, ...rest }) => {
    return Object.assign(rest, { login: login === null ? null : { ...login, token: login.token.reveal() } });
  });
  const sorted = contexts.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const text = `${JSON.stringify({ version: 1, current, contexts: sorted }, null, 2)}\n`;
  try {
    await files.makeDirectory(dirname(path), MODE.folder);
    await replaceDurably(files, path, new TextEncoder().encode(text), MODE.file);
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

/** For a user without a home directory, such as a system user. */
export const NO_HOME: Problem = {
  code: "no-home",
  what: "there is no folder to keep contexts in",
  fix: "set HOME or XDG_CONFIG_HOME; or use --url URL and --key-file FILE, ROBOT_POLICY_URL and ROBOT_POLICY_API_KEY",
};

/** A problem where another user may read or replace the file. */
async function findExposure(files: Files, path: string, userId: number): Promise<Problem | null> {
  for (const each of [dirname(path), path]) {
    const { kind, mode, userId: owner } = await files.stat(each);
    if (userId !== 0 && owner !== userId && owner !== 0) {
      return unusable(each, `it belongs to user ${owner}`, ownFix(path, userId));
    }
    // For a folder only write access matters: its files have their own modes.
    const forbidden = kind === "directory" ? 0o022 : 0o077;
    if ((mode & forbidden) === 0) continue;
    const shown = (mode & 0o777).toString(8).padStart(4, "0");
    const right = (kind === "directory" ? MODE.folder : MODE.file).toString(8);
    const why = `it has mode ${shown}: others can access the logins in it`;
    return unusable(each, why, `chmod ${right} ${shellWord(each)}`);
  }
  return null;
}

/** Only root may take a file from another user. */
function ownFix(path: string, userId: number): string {
  return `sudo chown -R ${userId} ${shellWord(dirname(path))}`;
}

function unusable(path: string, why: string, fix: string): Problem {
  return { code: "context-unusable", what: `cannot use ${path}: ${why}`, where: path, fix };
}

/** Contexts store absolute paths, because they are used from any folder. */
export function absolute(path: string | undefined): string | null {
  return path === undefined ? null : resolve(path);
}

export function badName(name: string): Problem {
  const fix = "use at most 64 letters, digits, dots, dashes and underscores, starting with a letter or digit";
  return { code: "usage", what: `'${name}' is not a valid name for a context`, fix };
}
