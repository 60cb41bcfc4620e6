import type { Json } from "../json/parse-json.ts";
import type { Fault } from "./finding.ts";
import { NOT_FINITE, tooLarge } from "./finding.ts";

/** Either the value, or why it is none. */
export type Read<T> = { readonly value: T } | { readonly fault: Fault };

const NOT_AN_INTEGER: Fault = { type: "int_type", msg: "Input should be a valid integer" };
const FRACTIONAL: Fault = {
  type: "int_from_float",
  msg: "Input should be a valid integer, got a number with a fractional part",
};
const UNPARSABLE: Fault = {
  type: "int_parsing",
  msg: "Input should be a valid integer, unable to parse string as an integer",
};
const OVERSIZED: Fault = {
  type: "int_parsing_size",
  msg: "Unable to parse input string as an integer, exceeded maximum size",
};

/** As pydantic: underscores between digits, a fraction of zeros, surrounding white space. */
const INTEGER_TEXT = /^([+-]?)([0-9]+(?:_[0-9]+)*)(?:\.0*)?$/;
const INTEGER_TEXT_MAXIMUM = 4300;

/** Integers as FastAPI reads them, lax: `5`, `5.0`, `true`, `"5"`, `" +0_5.0 "`. Beyond 2^53 is refused: JSON has no exact form for it. */
export function readInteger(input: Json): Read<number> {
  switch (typeof input) {
    case "boolean":
      return { value: input ? 1 : 0 };
    case "number":
      if (!Number.isFinite(input)) return { fault: NOT_FINITE };
      return Number.isInteger(input) ? safe(input) : { fault: FRACTIONAL };
    case "bigint":
      return safe(input);
    case "string":
      return fromText(input);
    default:
      return { fault: NOT_AN_INTEGER };
  }
}

function fromText(input: string): Read<number> {
  const text = input.trim();
  if (text.length > INTEGER_TEXT_MAXIMUM) return { fault: OVERSIZED };
  const match = INTEGER_TEXT.exec(text);
  if (match === null) return { fault: UNPARSABLE };
  const [, sign = "", digits = ""] = match;
  const magnitude = Number(digits.replaceAll("_", ""));
  return safe(sign === "-" && magnitude !== 0 ? -magnitude : magnitude);
}

function safe(value: number | bigint): Read<number> {
  if (value > Number.MAX_SAFE_INTEGER) return { fault: tooLarge(Number.MAX_SAFE_INTEGER) };
  if (value < Number.MIN_SAFE_INTEGER) return { value: Number.MIN_SAFE_INTEGER };
  return { value: Number(value) };
}
