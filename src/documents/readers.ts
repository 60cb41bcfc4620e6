import { codePoints, isPrintableAscii } from "./code-points.ts";
import { described, fail, read, type Reader, type Spot, wrongType } from "./fields.ts";
import { nearest } from "./nearest.ts";
import { below } from "./pointer.ts";
import { pathProblem } from "./paths.ts";
import { shown, shownPath } from "./shown.ts";
import { scalarType } from "./tree.ts";

/** Numbers in JSON syntax; no other syntax is accepted. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** At most 8 UTF-16 units become one code point in NFC: no canonical decomposition is longer than four code points. */
const NFC_SHRINKS_BY = 8;

/** A string as written, of any length. */
export const string: Reader<string> = described({ type: "string" }, (place) => {
  const { node } = place;
  const type = node.kind === "scalar" ? scalarType(node) : undefined;
  if (node.kind === "scalar" && type === "string") return node.text;
  const hint = type === "number" || type === "boolean" ? "; write it in quotes" : "";
  return wrongType(place, "a text", hint);
});

/** A text of SPEC section 2.1: NFC, trimmed, `minimum` to `maximum` code points, without control characters and unpaired surrogates. */
export function text(maximum: number, minimum = 1): Reader<string> {
  return described({ type: "string", minLength: minimum, maxLength: maximum }, (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const value = normalText(written, maximum);
    if (isText(value, minimum, maximum)) return value;
    return fail(place, "text_format", `expected ${minimum} to ${maximum} printable characters`);
  });
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
  if (length < minimum || length > maximum) return false;
  return isPrintableAscii(value) || (value.isWellFormed() && !/\p{Cc}/u.test(value));
}

export const absolutePath: Reader<string> = described(
  { type: "string", pattern: "^/(?:.*[^/])?$", maxLength: 4096 },
  (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const problem = written.startsWith("/") ? pathProblem(written) : "not absolute; start it with /";
    if (problem === undefined) return written;
    return fail(place, "path_format", `${shownPath(written)}: ${problem}`);
  },
);

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  return described({ enum: [...values] }, (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const value = values.find((value) => value === written);
    if (value !== undefined) return value;
    return fail(place, "not_allowed", () => {
      const near = nearest(written, values);
      const hint = near === undefined ? "" : `; did you mean ${near}?`;
      return `${shown(written)} is not one of ${values.join(", ")}${hint}`;
    });
  });
}

export const boolean: Reader<boolean> = described({ type: "boolean" }, (place) => {
  const { node } = place;
  if (node.kind === "scalar" && scalarType(node) === "boolean") return node.text.toLowerCase() === "true";
  return wrongType(place, "true or false");
});

/** Both bounds are inclusive, except `above`. */
export type NumberBounds = { readonly maximum: number } & ({ readonly minimum: number } | { readonly above: number });

/** @param endless what to write instead of infinity. */
export function number(bounds: NumberBounds, endless = ""): Reader<number> {
  return numberReader(bounds, false, endless);
}

/** A number without a fractional part in any notation, such as 6.4e2. */
export function integer(bounds: NumberBounds): Reader<number> {
  return numberReader(bounds, true, "");
}

function numberReader(bounds: NumberBounds, isInteger: boolean, endless: string): Reader<number> {
  const isBelow = (value: number) => ("above" in bounds ? value <= bounds.above : value < bounds.minimum);
  const lowest = "above" in bounds ? { exclusiveMinimum: bounds.above } : { minimum: bounds.minimum };
  const schema = { type: isInteger ? "integer" : "number", ...lowest, maximum: bounds.maximum };
  const range =
    "above" in bounds ? `above ${bounds.above}, up to ${bounds.maximum}` : `${bounds.minimum} to ${bounds.maximum}`;
  return described(schema, (place) => {
    const { node } = place;
    if (node.kind !== "scalar" || scalarType(node) !== "number") {
      const isQuoted = node.kind === "scalar" && JSON_NUMBER.test(node.text);
      return wrongType(place, "a number", isQuoted ? "; write it without quotes" : "");
    }
    const value = Number(node.text);
    const isPlain = JSON_NUMBER.test(node.text);
    if (isPlain ? !Number.isFinite(value) : /inf|nan/i.test(node.text)) {
      return fail(place, "not_finite", () => `${shown(node.text)} is not a finite number${endless}`);
    }
    if (!isPlain) return fail(place, "number_format", () => `write ${shown(node.text)} as a plain decimal number`);
    if (isInteger && !Number.isInteger(value)) return wrongType(place, "a whole number", " with a fraction");
    if (!isBelow(value) && value <= bounds.maximum) return value;
    return fail(place, "out_of_range", () => `${shown(node.text)} is outside the range: ${range}`);
  });
}

/** How many items a list has. */
export interface Count {
  readonly minimum: number;
  readonly maximum: number;
}

/** A list of values, `null` for any number of them. Items that the reader refuses are left out. */
export function list<T>(count: Count | null, reader: Reader<T>): Reader<readonly T[]> {
  const counted = count === null ? {} : { minItems: count.minimum, maxItems: count.maximum };
  const schema = { type: "array", items: reader.schema ?? {}, ...counted };
  return described(schema, (place) => {
    const { node, path, check } = place;
    if (node.kind !== "sequence") return wrongType(place, "a list");
    const { length } = node.items;
    if (count !== null && (length < count.minimum || length > count.maximum)) {
      fail(place, "list_length", `expected ${describeCount(count)} items, found ${length}`);
    }
    return node.items.flatMap((item, index) => {
      const value = read({ node: item, path: below(path, index), check }, reader);
      return value === undefined ? [] : [value];
    });
  });
}

function describeCount({ minimum, maximum }: Count): string {
  if (minimum === maximum) return `${minimum}`;
  return minimum === 0 ? `at most ${maximum}` : `${minimum} to ${maximum}`;
}

/**
 * Reports a text that was used before.
 *
 * @param seen the offset of the first use of each text; texts are compared as they are there.
 * @returns whether it was.
 */
export function isRepeated(
  spot: Spot,
  written: string,
  seen: Map<string, number>,
  { id, done, compared }: { readonly id: string; readonly done: string; readonly compared: string } = {
    id: "duplicate_name",
    done: "used",
    compared: written,
  },
): boolean {
  const first = seen.get(compared);
  if (first === undefined) {
    seen.set(compared, spot.node.offset);
    return false;
  }
  fail(spot, id, () => `${shownPath(written)} is already ${done} at line ${spot.check.findings.line(first)}`);
  return true;
}
