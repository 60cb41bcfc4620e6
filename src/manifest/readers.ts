import { codePoints, isPrintableAscii } from "./code-points.ts";
import type { Reader } from "./fields.ts";
import { fail, wrongType } from "./fields.ts";
import { nearest } from "./nearest.ts";
import { pathProblem } from "./paths.ts";
import { shown } from "./shown.ts";
import { scalarType } from "./yaml/tree.ts";

/** Numbers in JSON syntax; no other syntax is accepted. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** At most 8 UTF-16 units become one code point in NFC: no canonical decomposition is longer than four code points. */
const NFC_SHRINKS_BY = 8;

/** A string as written, of any length. */
export const string: Reader<string> = (place) => {
  const { node } = place;
  const type = node.kind === "scalar" ? scalarType(node) : undefined;
  if (node.kind === "scalar" && type === "string") return node.text;
  const hint = type === "number" || type === "boolean" ? "; write it in quotes" : "";
  wrongType(place, "a text", hint);
  return undefined;
};

/** A text of SPEC section 2.1: NFC, trimmed, `minimum` to `maximum` code points, without control characters and unpaired surrogates. */
export function text(maximum: number, minimum = 1): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const value = normalText(written, maximum);
    if (isText(value, minimum, maximum)) return value;
    fail(place, "text_format", `expected ${minimum} to ${maximum} printable characters`);
    return undefined;
  };
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

export const absolutePath: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined) return undefined;
  const problem = written.startsWith("/") ? pathProblem(written) : "not absolute; start it with /";
  if (problem === undefined) return written;
  fail(place, "path_format", `${shown(written)}: ${problem}`);
  return undefined;
};

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  return (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const value = values.find((value) => value === written);
    if (value !== undefined) return value;
    fail(place, "not_allowed", () => {
      const near = nearest(written, values);
      const hint = near === undefined ? "" : `; did you mean ${near}?`;
      return `${shown(written)} is not one of ${values.join(", ")}${hint}`;
    });
    return undefined;
  };
}

export const boolean: Reader<boolean> = (place) => {
  const { node } = place;
  if (node.kind === "scalar" && scalarType(node) === "boolean") return node.text.toLowerCase() === "true";
  wrongType(place, "true or false");
  return undefined;
};

/** Both bounds are inclusive, except `above`. */
export type NumberBounds = { readonly maximum: number } & ({ readonly minimum: number } | { readonly above: number });

export function number(bounds: NumberBounds): Reader<number> {
  return numberReader(bounds, false);
}

/** A number without a fractional part in any notation, such as 6.4e2. */
export function integer(bounds: NumberBounds): Reader<number> {
  return numberReader(bounds, true);
}

function numberReader(bounds: NumberBounds, isInteger: boolean): Reader<number> {
  const isBelow = (value: number) => ("above" in bounds ? value <= bounds.above : value < bounds.minimum);
  const range =
    "above" in bounds ? `above ${bounds.above}, up to ${bounds.maximum}` : `${bounds.minimum} to ${bounds.maximum}`;
  return (place) => {
    const { node } = place;
    if (node.kind !== "scalar" || scalarType(node) !== "number") {
      const isQuoted = node.kind === "scalar" && JSON_NUMBER.test(node.text);
      wrongType(place, "a number", isQuoted ? "; write it without quotes" : "");
      return undefined;
    }
    const value = Number(node.text);
    if (!JSON_NUMBER.test(node.text)) {
      if (/inf|nan/i.test(node.text)) fail(place, "not_finite", () => `${shown(node.text)} is not a finite number`);
      else fail(place, "number_format", () => `write ${shown(node.text)} as a plain decimal number`);
    } else if (!Number.isFinite(value)) {
      fail(place, "not_finite", () => `${shown(node.text)} is not a finite number`);
    } else if (isInteger && !Number.isInteger(value)) {
      wrongType(place, "a whole number", " with a fraction");
    } else if (isBelow(value) || value > bounds.maximum) {
      fail(place, "out_of_range", () => `${shown(node.text)} is outside the range: ${range}`);
    } else {
      return value;
    }
    return undefined;
  };
}
