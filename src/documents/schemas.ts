/** Parts of the schemas of documents: texts, numbers, lists and choices, with the codes and sentences of their findings. */
import * as z from "zod";

import type { Path } from "./findings.ts";
import { codePoints, shown, shownPath } from "./texts.ts";

/** JSON Schema (2020-12), for editors. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a check of ours finds. */
export interface Refusal {
  /** The code of the finding. */
  readonly id: string;
  readonly message: string;
  /** From the value that is checked to what is refused. */
  readonly path?: Path;
  /** Reported where the key is, not its value. */
  readonly isKey?: boolean;
}

/** An issue for a refusal; its parameters are what `refusalParameters` describes. */
export function refuse(ctx: z.core.$RefinementCtx, { message, path = [], ...params }: Refusal): void {
  ctx.addIssue({ code: "custom", message, path: [...path], params });
}

export const refusalParameters = z.object({ id: z.string(), isKey: z.boolean().default(false) });

/** Checks that involve several items run also where one of these is wrong, to find every mistake at once. */
export const OF_LIST: z.core.$ZodSuperRefineParams = { when: ({ value }) => Array.isArray(value) };
/** As `OF_LIST`: the members may be missing or of another type. Checks that compare their values ask for `rightMembers`. */
export const OF_MAPPING: z.core.$ZodSuperRefineParams = {
  when: ({ value }) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** The members of a mapping in which no issue was found so far. */
export function rightMembers<T extends object>(written: T, { issues }: z.core.$RefinementCtx): Partial<T> {
  const wrong = new Set(issues.map(({ path }) => path?.[0]));
  const members: Partial<T> = { ...written };
  for (const key in members) if (wrong.has(key)) delete members[key];
  return members;
}

/** A text of a certain form. @param problemOf says what is wrong with it. @param schema says the form to editors. */
export function formed(id: string, problemOf: (written: string) => string | undefined, schema: JsonSchema = {}) {
  return z
    .string()
    .superRefine((written, ctx) => {
      const message = problemOf(written);
      if (message !== undefined) refuse(ctx, { id, message });
    })
    .meta(schema);
}

/** The name of something, of a certain form. @param rule ends the sentence "X is not …". */
export function name(pattern: RegExp, rule: string) {
  return formed("name_format", (written) => (pattern.test(written) ? undefined : `${shown(written)} is not ${rule}`), {
    pattern: pattern.source,
  });
}

/** At most 8 UTF-16 units become one code point in NFC: no canonical decomposition is longer than four code points. */
const NFC_SHRINKS_BY = 8;

/** A text of SPEC section 2.1: NFC, trimmed, `minimum` to `maximum` code points, without control characters and unpaired surrogates. */
export function text(maximum: number, minimum = 1) {
  return z
    .string()
    .overwrite((written) => normalText(written, maximum))
    .superRefine((value, ctx) => {
      if (isText(value, minimum, maximum)) return;
      refuse(ctx, { id: "text_format", message: `expected ${minimum} to ${maximum} printable characters` });
    })
    .meta({ minLength: minimum, maxLength: maximum });
}

/**
 * The normal form of a text: NFC, trimmed.
 *
 * The time of NFC grows with the square of the number of combining marks, so a text with more than `maximum` code points in any form is
 * returned unchanged.
 */
export function normalText(written: string, maximum: number): string {
  const trimmed = written.trim();
  return trimmed.length > maximum * NFC_SHRINKS_BY ? trimmed : trimmed.normalize("NFC").trim();
}

export function isText(value: string, minimum: number, maximum: number): boolean {
  const length = codePoints(value);
  return length >= minimum && length <= maximum && value.isWellFormed() && !/\p{Cc}/u.test(value);
}

/** PATH_MAX of Linux (limits.h). */
const LONGEST_PATH_BYTES = 4096;

export const absolutePath = formed(
  "path_format",
  (path) => {
    const problem = path.startsWith("/") ? pathProblem(path) : "not absolute; start it with /";
    return problem === undefined ? undefined : `${shownPath(path)}: ${problem}`;
  },
  { pattern: "^/(?:.*[^/])?$", maxLength: LONGEST_PATH_BYTES },
);

/** Why a text cannot be the path of a file; undefined for a valid path. Does not check whether it is absolute. */
export function pathProblem(path: string): string | undefined {
  if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) return `longer than ${LONGEST_PATH_BYTES} bytes`;
  if (!path.isWellFormed() || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(path)) return "it holds invisible characters";
  if (path.split("/").includes("..")) return ".. is not allowed; write the path out";
  if (path.endsWith("/")) return "leave out the / at its end";
  return undefined;
}

/** Both bounds are inclusive, except `above`. */
export type NumberBounds = { readonly maximum: number } & ({ readonly minimum: number } | { readonly above: number });

/** @param endless what to write instead of infinity. */
export function number(bounds: NumberBounds, endless = "") {
  return within(z.number({ error: () => endless }), bounds);
}

/** A number without a fractional part in any notation, such as 6.4e2. */
export function integer(bounds: NumberBounds) {
  return within(z.int(), bounds);
}

function within<T extends z.ZodNumber>(schema: T, bounds: NumberBounds): T {
  const { maximum } = bounds;
  const error = "above" in bounds ? `above ${bounds.above}, up to ${maximum}` : `${bounds.minimum} to ${maximum}`;
  const bounded = "above" in bounds ? schema.gt(bounds.above, { error }) : schema.min(bounds.minimum, { error });
  return bounded.max(maximum, { error });
}

/** How many items a list has. */
export interface Count {
  readonly minimum: number;
  readonly maximum: number;
}

export function list<T extends z.ZodType>(count: Count, item: T) {
  const error = describeCount(count);
  return z.array(item).min(count.minimum, { error }).max(count.maximum, { error });
}

function describeCount({ minimum, maximum }: Count): string {
  if (minimum === maximum) return `${minimum}`;
  return minimum === 0 ? `at most ${maximum}` : `${minimum} to ${maximum}`;
}

/** A list whose texts are all different; those that are wrong themselves are not compared. */
export function uniqueTexts<T extends z.ZodType<string>>(count: Count, item: T) {
  return list(count, item)
    .superRefine((items, ctx) => {
      const texts = items.map((each, index) => ({ text: item.safeParse(each).data, path: [index] }));
      refuseRepeated(ctx, texts);
    }, OF_LIST)
    .meta({ uniqueItems: true });
}

/** A list of mappings that differ in the text of a key. */
export function uniqueBy<T extends z.ZodType<object>>(key: string, count: Count, item: T) {
  return list(count, item).superRefine((items, ctx) => refuseRepeated(ctx, textsAt(items, key)), OF_LIST);
}

/** A text and its path; undefined where there is none. */
export interface TextAt {
  readonly text: unknown;
  readonly path: Path;
}

/** The values of a key in a list of mappings, which may be wrong themselves. */
export function textsAt(items: unknown, key: string, below: Path = []): readonly TextAt[] {
  if (!Array.isArray(items)) return [];
  return items.map((item: unknown, index) => ({ text: memberOf(item, key), path: [...below, index, key] }));
}

/** The member of a value that may be of any type. */
export function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

/** @param rule the code and the words for a text that was there before, and how texts are compared. */
export function refuseRepeated(
  ctx: z.core.$RefinementCtx,
  texts: readonly TextAt[],
  rule = { id: "duplicate_name", done: "used", compared: (text: string) => text },
): void {
  const seen = new Set<string>();
  for (const { text, path } of texts) {
    if (typeof text !== "string") continue;
    const compared = rule.compared(text);
    if (seen.has(compared)) refuse(ctx, { id: rule.id, message: `${shownPath(text)} is already ${rule.done}`, path });
    seen.add(compared);
  }
}

/** A key that may be missing; it is null then. */
export function orNull<T extends z.ZodType>(schema: T) {
  return schema.optional().transform((value) => value ?? null);
}

/** JSON Schema of a document. Rules that a schema cannot express are left to `check`. */
export function jsonSchema(schema: z.ZodType, title: string, description: string): JsonSchema {
  const described = z.toJSONSchema(schema, {
    io: "input",
    override({ zodSchema, jsonSchema }) {
      // As it is written: zod leaves out the default of what is transformed.
      const preset = z.globalRegistry.get(zodSchema)?.["default"];
      if (preset !== undefined) Object.assign(jsonSchema, { default: preset });
      if (!(zodSchema instanceof z.ZodObject)) return;
      jsonSchema.additionalProperties = false;
      jsonSchema.patternProperties = { "^x-": { description: "Ignored: a place for your own notes." } };
    },
  });
  return { ...described, title, description };
}
