import * as z from "zod";

import { renderFindings } from "../../documents/excerpt.ts";
import { type Finding, pointer } from "../../documents/findings.ts";
import { formed } from "../../documents/schemas.ts";
import { shown } from "../../documents/texts.ts";
import type { Subject } from "../../documents/yaml.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode } from "../../platform/files/files.ts";
import { EXIT, type ExitCode } from "../../platform/terminal.ts";
import { fileHints, type Places } from "../body.ts";
import type { OperatorContext } from "../context.ts";
import type { Flags } from "../flags.ts";

/** The file cannot be used: `too-large`, or an errno code. */
export interface UnreadFile {
  readonly code: string;
}

/** Reads a file that a flag names, or stdin for `-`. */
export async function readGiven(
  path: string,
  limitBytes: number,
  { machine, readInput }: OperatorContext,
): Promise<Uint8Array | UnreadFile> {
  if (path === "-") {
    const text = await readInput(limitBytes);
    return text === "too-large" ? { code: text } : new TextEncoder().encode(text);
  }
  try {
    const bytes = await readBounded(machine.files, path, limitBytes);
    return bytes === "too-large" ? { code: bytes } : bytes;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return { code };
  }
}

/** How messages name the file. */
export function shownPath(path: string): string {
  return path === "-" ? "<stdin>" : path;
}

/** The service's limit for a request body, which the file becomes. */
const LIMIT_BYTES = 1_048_576;

/** The content of a YAML file that the operator wrote. */
interface Written<T> {
  readonly kind: "written";
  readonly value: T;
  /** Maps a `loc` of a 422 to the position in the file. */
  readonly places: Places;
}

/** The file is invalid; its findings were reported. */
export interface Unusable {
  readonly kind: "unusable";
  readonly exitCode: ExitCode;
}

interface WrittenRules<T> {
  readonly subject: Subject;
  readonly schema: z.ZodType<T>;
  /** The flags of the command, whose names operators may write in place of the members. */
  readonly declared: Flags;
  /** Messages for other wrong keys. */
  readonly hints?: ReadonlyMap<string, string>;
  readonly json: boolean;
}

/** Reads a YAML file, or stdin for `-`. Reports all findings at once, each at file:line:column. */
export async function readWritten<T>(
  path: string,
  { subject, schema, declared, hints: more = new Map(), json }: WrittenRules<T>,
  context: OperatorContext,
): Promise<Written<T> | Unusable> {
  const name = shownPath(path);
  const bytes = await readGiven(path, LIMIT_BYTES, context);
  if ("code" in bytes) return refuse([unreadable(bytes, LIMIT_BYTES)], null);
  const hints = new Map([...fileHints(declared), ...more]);
  const rules = { subject, sizeLimitBytes: LIMIT_BYTES, secretAdvice: "", hints };
  // Loaded here, because most commands read no YAML.
  const { readSettings } = await import("../../documents/read.ts");
  const { value, findings, locate } = readSettings(bytes, rules, schema);
  if (value === null) return refuse(findings, bytes);
  return {
    kind: "written",
    value,
    places(loc) {
      const { line, column } = locate(pointer(loc.slice(1)));
      return `${name}:${line}:${column}`;
    },
  };

  function refuse(findings: readonly Finding[], source: Uint8Array | null): Unusable {
    return refuseFile(findings, { name, bytes: source, json }, context);
  }
}

/** Reports what is wrong with a file, each at file:line:column. */
export function refuseFile(
  findings: readonly Finding[],
  { name, bytes, json }: { readonly name: string; readonly bytes: Uint8Array | null; readonly json: boolean },
  { terminal }: OperatorContext,
): Unusable {
  for (const line of renderFindings(findings, { path: name, bytes, columns: terminal.columns })) terminal.note(line);
  if (json) terminal.json({ findings: findings.map((finding) => Object.assign({ file: name }, finding)) });
  return { kind: "unusable", exitCode: EXIT.invalid };
}

/** Why a file cannot be used. */
export function unreadable({ code }: UnreadFile, limitBytes: number): Finding {
  const finding = (id: string, message: string): Finding => {
    return { id, severity: "error", loc: "", message, line: 1, column: 1 };
  };
  if (code === "too-large") return finding("too_large", `the file is larger than ${limitBytes} bytes`);
  if (code === "ENOENT") return finding("file_missing", "there is no such file; correct the path");
  return finding("file_unreadable", `the file cannot be read (${code})`);
}

/** Labels in file order. The service checks their number and length. */
export const labelMapping = z.record(z.string(), z.string());

const momentSchema = z.iso.datetime({ offset: true });

/** A date and time with its UTC offset, so that it does not depend on the reader's time zone. */
export const moment = formed("date_time", (written) =>
  isMoment(written)
    ? undefined
    : `${shown(written)} is not a time with a UTC offset, such as 2030-01-31T08:00:00+01:00`,
);

export function isMoment(text: string): boolean {
  return momentSchema.safeParse(text).success;
}

/** A non-empty string. */
export const words = formed("text_format", (written) => (written === "" ? "expected a non-empty text" : undefined));
