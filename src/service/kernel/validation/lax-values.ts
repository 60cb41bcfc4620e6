import type { Json } from "../json/json.ts";
import { type Fault, fault, NOT_FINITE } from "./finding.ts";

/** The value, or why it is invalid. */
export type Read<T> = { readonly value: T } | { readonly fault: Fault };

const NOT_AN_INTEGER = fault("int_type", "Input should be a valid integer");
const FRACTIONAL = fault("int_from_float", "Input should be a valid integer, got a number with a fractional part");
const UNPARSABLE = fault("int_parsing", "Input should be a valid integer, unable to parse string as an integer");
const OVERSIZED = fault("int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size");

/**
 * A sign, leading zeros with underscores anywhere among them, digits with underscores between them, a fraction of zeros. White space
 * around it as in pydantic; `String.trim` trims other characters. Anchored at both ends, because otherwise a text of spaces takes quadratic time.
 */
const INTEGER_TEXT =
  /^\p{White_Space}*(?:\+(?!-))?(-?)(?:0(?:[0_]*0)?|(?:0[0_]*)?([1-9][0-9]*(?:_[0-9]+)*))(?:\.0+)?\p{White_Space}*$/u;
const DIGITS_MAXIMUM = 4300;
/** Applies only to texts that begin with digits: with a plus sign, a zero or a space before them, pydantic reports too many digits as unparsable. */
const OVERSIZED_TEXT = new RegExp(`^-?[1-9][0-9]{${DIGITS_MAXIMUM}}`);
/** Integers with a fraction or exponent are limited to 64 bits. */
const FLOAT_MAGNITUDE_LIMIT = 2 ** 63;

/** Integers as FastAPI reads them, lax: `5`, `5.0`, `true`, `"5"`, `" +0_5.0 "`. Returns a bigint beyond 2^53. */
export function readInteger(input: Json): Read<number | bigint> {
  switch (typeof input) {
    case "boolean":
      return { value: input ? 1 : 0 };
    case "number":
      return fromNumber(input);
    case "bigint":
      return { value: input };
    case "string":
      return fromText(input);
    default:
      return { fault: NOT_AN_INTEGER };
  }
}

function fromNumber(input: number): Read<number> {
  if (!Number.isFinite(input)) return { fault: NOT_FINITE };
  if (!Number.isInteger(input)) return { fault: FRACTIONAL };
  return Math.abs(input) < FLOAT_MAGNITUDE_LIMIT ? { value: input } : { fault: OVERSIZED };
}

function fromText(input: string): Read<number | bigint> {
  if (OVERSIZED_TEXT.test(input)) return { fault: OVERSIZED };
  const match = INTEGER_TEXT.exec(input);
  if (match === null) return { fault: UNPARSABLE };
  const [, sign = "", grouped = "0"] = match;
  const digits = grouped.replaceAll("_", "");
  if (digits.length > DIGITS_MAXIMUM) return { fault: UNPARSABLE };
  const magnitude = BigInt(digits);
  return { value: sign === "-" ? -magnitude : magnitude };
}

const NOT_A_BOOLEAN = fault("bool_type", "Input should be a valid boolean");
const UNPARSABLE_BOOLEAN = fault("bool_parsing", "Input should be a valid boolean, unable to interpret input");

const TRUE = /^(?:1|on|true|t|yes|y)$/i;
const FALSE = /^(?:0|off|false|f|no|n)$/i;

/** Booleans as FastAPI reads them, lax: `true`, `1`, `1.0`, `"yes"`, `"On"`. */
export function readBoolean(input: Json): Read<boolean> {
  if (typeof input === "boolean") return { value: input };
  if (typeof input !== "string" && !isInteger64(input)) return { fault: NOT_A_BOOLEAN };
  const text = String(input);
  if (TRUE.test(text)) return { value: true };
  return FALSE.test(text) ? { value: false } : { fault: UNPARSABLE_BOOLEAN };
}

/** Larger integers pydantic does not even try to interpret. */
function isInteger64(input: Json): input is number | bigint {
  if (typeof input !== "bigint" && (typeof input !== "number" || !Number.isInteger(input))) return false;
  return BigInt.asIntN(64, BigInt(input)) === BigInt(input);
}
