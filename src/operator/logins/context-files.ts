import { dirname, isAbsolute, join } from "node:path";

import * as z from "zod";

import { Secret } from "../../client/secret.ts";
import { readBounded, removeIfPresent, replaceDurably } from "../../platform/files/durable-file.ts";
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

export type FoundContext =
  | { readonly kind: "context"; readonly context: ServiceContext }
  | { readonly kind: "no-context"; readonly problem: Problem };

/** The contexts of one user. Each has its own file, so that two commands at once do not overwrite each other's changes. */
export interface ContextFiles {
  readonly folder: string;
  /** Names, sorted. */
  names(): Promise<readonly string[]>;
  find(name: string): Promise<FoundContext>;
  /** Writes atomically and durably. @returns null, or why it could not be written. */
  save(context: ServiceContext): Promise<Problem | null>;
  remove(name: string): Promise<Problem | null>;
  /** Name of the default context; null for none. */
  current(): Promise<string | null>;
  setCurrent(name: string | null): Promise<Problem | null>;
}

export const CONTEXT_NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/;

/** A context is a few lines long. */
const CONTEXT_LIMIT_BYTES = 65_536;
const CONTEXTS_LIMIT = 1000;
const SUFFIX = ".json";
const CURRENT = "current-context";
const MODE = { folder: 0o700, file: 0o600 } as const;

const contextFileSchema = z.object({
  version: z.literal(1),
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
        .regex(/^[\u0021-\u007E]+$/),
      signed_in_at: z.string(),
      expires_at: z.string().nullable(),
      organization: z.string().nullable(),
    })
    .nullable(),
});

/** `$XDG_CONFIG_HOME/robot-policy`, else `~/.config/robot-policy`; null for a user without a home directory. */
export function configurationFolder(environment: OperatorContext["environment"]): string | null {
  const { XDG_CONFIG_HOME = "", HOME = "" } = environment;
  // A relative path must be ignored (XDG Base Directory Specification).
  if (isAbsolute(XDG_CONFIG_HOME)) return join(XDG_CONFIG_HOME, "robot-policy");
  return isAbsolute(HOME) ? join(HOME, ".config", "robot-policy") : null;
}

/**
 * Opens the contexts in this folder. Reads and creates nothing yet.
 *
 * @param warn called once when the folder cannot be read, which then counts as empty.
 */
export function openContextFiles(
  folder: string,
  files: Files,
  userId: number,
  warn: (text: string) => void,
): ContextFiles {
  let isWarned = false;
  const contexts = join(folder, "contexts");
  const currentPath = join(folder, CURRENT);
  const pathOf = (name: string) => join(contexts, name + SUFFIX);
  const write = async (path: string, text: string) => {
    await files.makeDirectory(dirname(path), MODE.folder);
    await replaceDurably(files, path, new TextEncoder().encode(text), MODE.file);
  };
  const unlessUnreadable = async <T, Otherwise>(
    path: string,
    reading: Promise<T>,
    otherwise: Otherwise,
  ): Promise<T | Otherwise> => {
    try {
      return await reading;
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (code !== "ENOENT" && code !== "ENOTDIR" && !isWarned) {
        isWarned = true;
        warn(`${path} cannot be read (${code}); ${accessFix(code, path)}`);
      }
      return otherwise;
    }
  };
  // Only root may take a file from another user.
  const ownFix = `sudo chown -R ${userId} ${shellWord(folder)}`;
  const accessFix = (code: string, path: string) => (code === "EACCES" ? ownFix : `check ${path}`);
  return {
    folder,
    async names() {
      const names = await unlessUnreadable(contexts, files.list(contexts), []);
      return names
        .flatMap((name) => (name.endsWith(SUFFIX) ? [name.slice(0, -SUFFIX.length)] : []))
        .filter((name) => CONTEXT_NAME.test(name))
        .toSorted()
        .slice(0, CONTEXTS_LIMIT);
    },
    async find(name) {
      if (!CONTEXT_NAME.test(name)) return missing(name);
      const path = pathOf(name);
      try {
        const bytes = await readBounded(files, path, CONTEXT_LIMIT_BYTES);
        const exposed = await findExposure(files, [folder, contexts, path], userId, ownFix);
        if (exposed !== null) return { kind: "no-context", problem: exposed };
        return readContext(name, path, bytes);
      } catch (error) {
        const code = errorCode(error);
        if (code === undefined) throw error;
        if (code === "ENOENT" || code === "ENOTDIR") return missing(name);
        return { kind: "no-context", problem: unusable(path, `it cannot be read (${code})`, accessFix(code, path)) };
      }
    },
    save: (context) => attempt("write", pathOf(context.name), () => write(pathOf(context.name), writeContext(context))),
    remove: (name) =>
      attempt("remove", pathOf(name), async () => {
        await removeIfPresent(files, pathOf(name));
        await files.syncDirectory(contexts);
      }),
    async current() {
      const bytes = await unlessUnreadable(currentPath, readBounded(files, currentPath, CONTEXT_LIMIT_BYTES), null);
      if (bytes === null || bytes === "too-large") return null;
      const name = new TextDecoder().decode(bytes).trim();
      return CONTEXT_NAME.test(name) ? name : null;
    },
    setCurrent: (name) =>
      attempt("write", currentPath, () =>
        name === null ? removeIfPresent(files, currentPath) : write(currentPath, `${name}\n`),
      ),
  };
}

function readContext(name: string, path: string, bytes: Uint8Array | "too-large"): FoundContext {
  const again = `robot-policy contexts remove ${name}, then robot-policy contexts add or login`;
  const bad = (why: string): FoundContext => ({ kind: "no-context", problem: unusable(path, why, again) });
  if (bytes === "too-large") return bad(`it is larger than ${CONTEXT_LIMIT_BYTES} bytes`);
  const read = contextFileSchema.safeParse(parseJson(new TextDecoder().decode(bytes)));
  if (!read.success) return bad("it is damaged, or was written by another version of this program");
  const { version: _version, login, ...rest } = read.data;
  const context = { name, ...rest, login: login === null ? null : { ...login, token: new Secret(login.token) } };
  return { kind: "context", context };
}

function writeContext({ name: _name, login, ...rest }: ServiceContext): string {
  const written = { version: 1, ...rest, login: login === null ? null : { ...login, token: login.token.reveal() } };
  return `${JSON.stringify(written, null, 2)}\n`;
}

/** A problem for the first of these paths that another user may read or replace. */
async function findExposure(
  files: Files,
  paths: readonly string[],
  userId: number,
  ownFix: string,
): Promise<Problem | null> {
  for (const path of paths) {
    const { kind, mode, userId: owner } = await files.stat(path);
    if (userId !== 0 && owner !== userId && owner !== 0) {
      return unusable(path, `it belongs to user ${owner}`, ownFix);
    }
    // For a folder only write access matters: its files have their own modes.
    const forbidden = kind === "directory" ? 0o022 : 0o077;
    if ((mode & forbidden) === 0) continue;
    const shown = (mode & 0o777).toString(8).padStart(4, "0");
    const right = (kind === "directory" ? MODE.folder : MODE.file).toString(8);
    return unusable(
      path,
      `it has mode ${shown}: others can access the login in it`,
      `chmod ${right} ${shellWord(path)}`,
    );
  }
  return null;
}

function missing(name: string): FoundContext {
  const fix = "robot-policy contexts list shows all contexts; robot-policy contexts add NAME --url URL creates one";
  return { kind: "no-context", problem: { code: "context-missing", what: `there is no context named ${name}`, fix } };
}

function unusable(path: string, why: string, fix: string): Problem {
  return { code: "context-unusable", what: `cannot use ${path}: ${why}`, where: path, fix };
}

async function attempt(verb: string, path: string, act: () => Promise<void>): Promise<Problem | null> {
  try {
    await act();
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const fix = "free disk space or correct the permissions, or set XDG_CONFIG_HOME to another folder";
    return { code: "context-not-saved", what: `cannot ${verb} ${path} (${code})`, where: path, fix };
  }
}
