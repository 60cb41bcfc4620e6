import { codePoints, isPrintableAscii } from "./code-points.ts";
import type { Place, Reader } from "./fields.ts";
import { wrongType } from "./fields.ts";
import { nearest } from "./nearest.ts";
import { shown } from "./shown.ts";
import { scalarType } from "./yaml/tree.ts";

/** How JSON writes a number; nothing else is one. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

/** A string as written, of any length. */
export const string: Reader<string> = (place) => {
  const { node } = place;
  const type = node.kind === "scalar" ? scalarType(node) : undefined;
  if (node.kind === "scalar" && type === "string") return node.text;
  const hint = type === "number" || type === "boolean" ? "; write it in quotes" : "";
  wrongType(place, "a text", hint);
  return undefined;
};

/** A text of SPEC section 2.1: NFC, trimmed, `minimum` to `maximum` code points, none of them a control character or half a pair. */
export function text(maximum: number, minimum = 1): Reader<string> {
  return (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const value = written.normalize("NFC").trim();
    if (isText(value, minimum, maximum)) return value;
    fail(place, "text_format", `expected ${minimum} to ${maximum} printable characters`);
    return undefined;
  };
}

export function isText(value: string, minimum: number, maximum: number): boolean {
  const length = codePoints(value);
  if (length < minimum || length > maximum) return false;
  return isPrintableAscii(value) || (value.isWellFormed() && !/\p{Cc}/u.test(value));
}

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  return (place) => {
    const written = string(place);
    if (written === undefined) return undefined;
    const value = values.find((value) => value === written);
    if (value !== undefined) return value;
    const near = nearest(written, values);
    const hint = near === undefined ? "" : `; did you mean ${near}?`;
    fail(place, "not_allowed", `${shown(written)} is not one of ${values.join(", ")}${hint}`);
    return undefined;
  };
}

export const boolean: Reader<boolean> = (place) => {
  const { node } = place;
  if (node.kind === "scalar" && scalarType(node) === "boolean") return node.text.toLowerCase() === "true";
  wrongType(place, "true or false");
  return undefined;
};

export interface NumberBounds {
  readonly minimum: number;
  readonly maximum: number;
}

export function number({ minimum, maximum }: NumberBounds): Reader<number> {
  return (place) => {
    const { node } = place;
    if (node.kind !== "scalar" || scalarType(node) !== "number") {
      wrongType(place, "a number");
      return undefined;
    }
    const value = Number(node.text);
    if (!JSON_NUMBER.test(node.text)) {
      if (/inf|nan/i.test(node.text)) fail(place, "not_finite", `${shown(node.text)} is not a finite number`);
      else fail(place, "number_format", `write ${shown(node.text)} as a plain decimal number`);
    } else if (!Number.isFinite(value)) {
      fail(place, "not_finite", `${shown(node.text)} is not a finite number`);
    } else if (value < minimum || value > maximum) {
      fail(place, "out_of_range", `${shown(node.text)} is outside ${minimum} to ${maximum}`);
    } else {
      return value;
    }
    return undefined;
  };
}

/** A number without a fractional part, however it is written: 6.4e2 is one. */
export function integer(bounds: NumberBounds): Reader<number> {
  const reader = number(bounds);
  return (place) => {
    const value = reader(place);
    if (value === undefined || Number.isInteger(value)) return value;
    wrongType(place, "a whole number", " with a fraction");
    return undefined;
  };
}

function fail({ node, path, check }: Place, id: string, message: string): void {
  check.findings.error(id, path, node.offset, message);
}
