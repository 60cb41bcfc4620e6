/** A key that was just created: it is stored nowhere else, so it is found in any answer, and is printed or written to a file. */
import { dirname } from "node:path";

import * as z from "zod";

import type { OperationInput, OperationOf } from "../../client/operation-client.ts";
import { removeIfPresent } from "../../platform/files/durable-file.ts";
import { errorCode, type Files, type WritableFile } from "../../platform/files/files.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import type { Places } from "../body.ts";
import { documentOfFailure } from "../failure.ts";
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

/** A new file for a key; removed again unless the key is written to it. */
interface KeyFile extends AsyncDisposable {
  /** @returns null once the key is on the disk, or why it could not be written. */
  write(key: string): Promise<Problem | null>;
}

/** Creates a file with mode 0600 for a key. */
export async function createKeyFile(path: string, files: Files): Promise<KeyFile | Problem> {
  let file: WritableFile;
  try {
    file = await files.createExclusive(path, 0o600);
  } catch (error) {
    return unwritable(path, error);
  }
  let isWritten = false;
  return {
    async write(key) {
      try {
        await file.write(new TextEncoder().encode(`${key}\n`));
        await file.sync();
        await files.syncDirectory(dirname(path));
        isWritten = true;
        return null;
      } catch (error) {
        return unwritable(path, error);
      }
    },
    async [Symbol.asyncDispose]() {
      await file.close();
      if (!isWritten) await removeIfPresent(files, path);
    },
  };
}

function unwritable(path: string, error: unknown): Problem {
  const code = errorCode(error);
  if (code === undefined) throw error;
  if (code === "EEXIST") {
    const what = `cannot write the key to ${path}: the file exists already`;
    return { code: "key-file-exists", what, where: path, fix: "give another path, or remove it first" };
  }
  const fix = "give a path in an existing folder that you may write to";
  return { code: "key-file-unwritable", what: `cannot write the key to ${path} (${code})`, where: path, fix };
}

/** A request that makes a key, and where the key goes. */
interface Issue {
  readonly row: OperationOf<unknown>;
  readonly input: OperationInput;
  readonly places: Places;
  readonly label: string;
  readonly out: string | undefined;
}

/** The answer of the service, and how its key was handed over. */
interface Issued {
  readonly document: unknown;
  readonly exitCode: ExitCode;
}

/** Has the service make a key, and prints it, or writes it to the file of `--out`. @returns an exit code after reporting that there is none. */
export async function issueKey(service: Service, issue: Issue): Promise<Issued | ExitCode> {
  const { row, input, places, out } = issue;
  // Before the key is created: a key that cannot be written would be lost.
  const created = out === undefined ? null : await createKeyFile(out, service.context.machine.files);
  if (created !== null && "code" in created) return refuse(created, EXIT.failed, service.terminal);
  await using file = created;
  // The document leaves the members of the answer open: whatever it holds must not be lost.
  const result = await service.call({ ...row, response: z.unknown() }, input);
  const document = result.kind === "ok" ? result.value.document : documentOfFailure(result);
  if (result.kind !== "ok" && document === undefined) return service.failed(result, { body: input.body, places });
  return { document, exitCode: await handOver(service, issue, document, file) };
}

/** Prints the key, or writes it to its file. An answer in which it is not known is kept whole. */
async function handOver(
  service: Service,
  { row, label, out = "" }: Issue,
  document: unknown,
  file: KeyFile | null,
): Promise<ExitCode> {
  const { terminal, flags } = service;
  const id = namedSchema.parse(document).id ?? null;
  const name = `The key ${label}${id === null ? "" : ` (${id})`}`;
  const key = keyIn(document, label);
  const text = key ?? JSON.stringify(document);
  const rest = withoutKey(document, key ?? "");
  if (file !== null) {
    const unwritten = await file.write(text);
    if (unwritten !== null) {
      // It is stored nowhere else.
      terminal.print(text);
      const fix = `${unwritten.fix}; the key works, and is shown above, only once`;
      return refuse({ ...unwritten, fix }, EXIT.failed, terminal);
    }
    if (key === null) return refuseUnrecognized(`the whole answer is in ${out}; leave only the key there`, terminal);
    return service.answer({ ...rest, key_file: out }, () => {
      noteFacts(terminal, otherFacts(rest, row.response));
      terminal.print(`${name} is in ${out}, which only you can read.`);
    });
  }
  if (key === null && flags.json !== true) {
    terminal.json(document);
    return refuseUnrecognized("take it from the answer above, which is shown only once", terminal);
  }
  return service.answer(document, () => {
    noteFacts(terminal, otherFacts(rest, row.response));
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
