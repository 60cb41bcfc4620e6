/** A key that was just created: it is stored nowhere else, so it is found in any answer, and is printed or written to a file. */
import { dirname } from "node:path";

import * as z from "zod";

import { operations } from "../../api/api.ts";
import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { errorCode, type Files, type WritableFile } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { noteFacts, otherFacts } from "../lists/show-list.ts";
import { refuse } from "../refuse.ts";
import type { Service } from "../service.ts";

/** The form of a key in the service document: `sk_`, a marker of the service, `_`, and the rest. Shortened ones have other characters. */
const KEY = /^sk_[^_\s]+_[^\s*.…]+$/;

/**
 * The key in the answer that creates one, whatever the service names its members: the longest text of that form, because a beginning of the
 * key may stand beside it. Null where there is none, or more than one.
 *
 * @param label of the key, which the answer may repeat.
 */
function keyIn(document: unknown, label: string): string | null {
  const texts = valuesIn(document).filter((value) => typeof value === "string");
  const keys = [...new Set(texts.filter((text) => text !== label && KEY.test(text)))];
  const [longest, next] = keys.toSorted((left, right) => right.length - left.length);
  return longest === undefined || next?.length === longest.length ? null : longest;
}

/** What limits a key, as a body asks for it. */
interface Restrictions {
  readonly scopes: readonly string[] | undefined;
  /** ISO 8601. */
  readonly expires_at: string | undefined;
  readonly uses: number | undefined;
}

/** The flags of restrictions that the answer does not repeat, under whichever names; empty where it repeats all. */
export function unconfirmedFlags({ scopes, expires_at: expiresAt, uses }: Restrictions, document: unknown): string {
  const values = valuesIn(document);
  const isTimed = (timeMs: number) => values.some((value) => isSameTime(value, timeMs));
  const rows = [
    ["--scope", isListed(scopes, values)],
    ["--expires", expiresAt === undefined || isTimed(Date.parse(expiresAt))],
    ["--uses", uses === undefined || values.includes(uses)],
  ] as const;
  return rows.flatMap(([flag, isConfirmed]) => (isConfirmed ? [] : flag)).join(", ");
}

/** Whether a list has these words and no other; true without words. */
function isListed(words: readonly string[] | undefined, values: readonly unknown[]): boolean {
  if (words === undefined) return true;
  const wanted = new Set<unknown>(words);
  return values.some((value) => {
    const given = new Set<unknown>(Array.isArray(value) ? value : []);
    return given.size === wanted.size && [...given].every((each) => wanted.has(each));
  });
}

/** As ISO 8601, or since the Unix epoch in seconds or milliseconds; services may round it to seconds. */
function isSameTime(value: unknown, timeMs: number): boolean {
  const times =
    typeof value === "string" ? [Date.parse(value)] : typeof value === "number" ? [value, value * 1000] : [];
  return times.some((each) => Math.abs(each - timeMs) < 1000);
}

/** Everything in a document: its texts and numbers, and also its lists and objects themselves. */
function valuesIn(document: unknown): readonly unknown[] {
  if (typeof document !== "object" || document === null) return [document];
  return [document, ...Object.values(document).flatMap(valuesIn)];
}

/** Checks before the key is created that it can be written to this path. @returns null where no problem is found. */
export async function keyFileProblem(path: string | undefined, files: Files): Promise<Problem | null> {
  if (path === undefined) return null;
  try {
    await files.linkStat(path);
    const what = `cannot write the key to ${path}: the file exists already`;
    return { code: "key-file-exists", what, where: path, fix: "give another path, or remove it first" };
  } catch (error) {
    if (errorCode(error) !== "ENOENT") return unwritable(path, error);
  }
  try {
    const { kind } = await files.stat(dirname(path));
    if (kind === "directory") return null;
    return unwritable(path, Object.assign(new Error("not a folder"), { code: "ENOTDIR" }));
  } catch (error) {
    return unwritable(path, error);
  }
}

/** Writes a key to a new file with mode 0600. @returns null, or why it could not be written. */
export async function writeKeyFile(path: string, key: string, files: Files): Promise<Problem | null> {
  try {
    const file = await files.createExclusive(path, 0o600);
    try {
      await writeWhole(file, key);
      await files.syncDirectory(dirname(path));
    } catch (error) {
      // Remove the incomplete file: it would make the next try fail.
      await removeIfPresent(files, path).catch(() => {});
      throw error;
    }
    return null;
  } catch (error) {
    return unwritable(path, error);
  }
}

async function writeWhole(file: WritableFile, key: string): Promise<void> {
  try {
    await file.write(new TextEncoder().encode(`${key}\n`));
    await file.sync();
  } finally {
    await file.close();
  }
}

function unwritable(path: string, error: unknown): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  const fix = "give a path in an existing folder that you may write to";
  return { code: "key-file-unwritable", what: `cannot write the key to ${path} (${code})`, where: path, fix };
}

/** A key that the service has just created. */
interface Created {
  readonly label: string;
  /** The answer of the service. */
  readonly document: unknown;
  /** What is known of such an answer; the rest is shown beside the key. */
  readonly schema: z.ZodType;
  readonly out: string | undefined;
  /** Whether a key that cannot be written is revoked; others may depend on one that replaced another. */
  readonly isRevocable: boolean;
}

/** Prints the key, or writes it to the file of `--out`. An answer in which it is not known is kept whole. */
export async function handOver(
  { label, document, schema, out, isRevocable }: Created,
  service: Service,
): Promise<ExitCode> {
  const { terminal, flags, context } = service;
  const id = namedSchema.parse(document).id ?? null;
  const name = `The key ${label}${id === null ? "" : ` (${id})`}`;
  const key = keyIn(document, label);
  const text = key ?? JSON.stringify(document);
  if (out !== undefined) {
    const unwritten = await writeKeyFile(out, text, context.machine.files);
    if (unwritten !== null) return giveUp(service, isRevocable ? id : null, unwritten, text);
    if (key === null) return refuseUnrecognized(`the whole answer is in ${out}; leave only the key there`, terminal);
    const rest = withoutKey(document, key);
    return service.answer({ ...rest, key_file: out }, () => {
      noteFacts(terminal, otherFacts(rest, schema));
      terminal.print(`${name} is in ${out}, which only you can read.`);
    });
  }
  if (key === null && flags.json !== true) {
    terminal.json(document);
    return refuseUnrecognized("take it from the answer above, which is shown only once", terminal);
  }
  return service.answer(document, () => {
    noteFacts(terminal, otherFacts(withoutKey(document, key ?? ""), schema));
    terminal.note(`${name}. It is shown only once:`);
    terminal.print(key ?? "");
  });
}

const namedSchema = z.looseObject({ id: z.string().optional().catch(undefined) }).catch({});

function refuseUnrecognized(fix: string, terminal: Terminal): ExitCode {
  const what = "the key is created, but which part of the answer it is cannot be told";
  return refuse({ code: "key-not-recognized", what, fix }, EXIT.failed, terminal);
}

function withoutKey(document: unknown, key: string): object {
  const holdsKey = (value: unknown) => typeof value === "string" && key !== "" && value.includes(key);
  const rest = JSON.stringify(document, (_name, value: unknown) => (holdsKey(value) ? undefined : value));
  return Object.assign({}, JSON.parse(rest ?? "{}"));
}

/** Revokes a key that could not be written. If that fails, shows the key, because it is stored nowhere else. */
async function giveUp(service: Service, id: string | null, unwritten: Problem, key: string): Promise<ExitCode> {
  const row = { ...operations.revokeApiKey, response: z.unknown() };
  const revoked = id === null ? null : await service.call(row, { parameters: { key_id: id } });
  if (revoked?.kind !== "ok") service.terminal.print(key);
  const next = revoked?.kind === "ok" ? "the new key was revoked again" : "it works, and is shown above, only once";
  return refuse({ ...unwritten, fix: `${unwritten.fix}; ${next}` }, EXIT.failed, service.terminal);
}
