import type { Json } from "../json/parse-json.ts";

/** Path to an input; the first element names the part of the request. */
export type Location = readonly (string | number)[];

/** One refused input, with the messages of FastAPI and pydantic, which clients of this API already parse. */
export interface Finding {
  readonly type: string;
  readonly loc: Location;
  readonly msg: string;
  readonly input: Json;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

/** A finding without its location: `type`, `msg` and, if pydantic has one, `ctx`. */
export type Fault = Pick<Finding, "type" | "msg" | "ctx">;

export const MISSING: Fault = { type: "missing", msg: "Field required" };
export const NOT_AN_OBJECT: Fault = {
  type: "model_attributes_type",
  msg: "Input should be a valid dictionary or object to extract fields from",
};
export const NOT_A_DICTIONARY: Fault = { type: "dict_type", msg: "Input should be a valid dictionary" };
export const NOT_A_LIST: Fault = { type: "list_type", msg: "Input should be a valid list" };
export const NOT_A_TUPLE: Fault = { type: "tuple_type", msg: "Input should be a valid tuple" };
export const NOT_A_NUMBER: Fault = { type: "float_type", msg: "Input should be a valid number" };
export const NOT_A_STRING: Fault = { type: "string_type", msg: "Input should be a valid string" };
export const NOT_UNICODE: Fault = {
  type: "string_unicode",
  msg: "Input should be a valid string, unable to parse raw data as a unicode string",
};
export const NOT_FINITE: Fault = { type: "finite_number", msg: "Input should be a finite number" };
export const NOT_ALLOWED: Fault = { type: "extra_forbidden", msg: "Extra inputs are not permitted" };

export function stringTooShort(minimum: number): Fault {
  return {
    type: "string_too_short",
    msg: `String should have at least ${counted(minimum, "character")}`,
    ctx: { min_length: minimum },
  };
}

export function stringTooLong(maximum: number): Fault {
  return {
    type: "string_too_long",
    msg: `String should have at most ${counted(maximum, "character")}`,
    ctx: { max_length: maximum },
  };
}

export function patternMismatch(pattern: RegExp): Fault {
  return {
    type: "string_pattern_mismatch",
    msg: `String should match pattern '${pattern.source}'`,
    ctx: { pattern: pattern.source },
  };
}

export function listTooShort(minimum: number, actual: number): Fault {
  return {
    type: "too_short",
    msg: `List should have at least ${counted(minimum, "item")} after validation, not ${actual}`,
    ctx: { field_type: "List", min_length: minimum, actual_length: actual },
  };
}

export function listTooLong(maximum: number, actual: number): Fault {
  return {
    type: "too_long",
    msg: `List should have at most ${counted(maximum, "item")} after validation, not ${actual}`,
    ctx: { field_type: "List", max_length: maximum, actual_length: actual },
  };
}

export function tupleTooLong(maximum: number, actual: number): Fault {
  return {
    type: "too_long",
    msg: `Tuple should have at most ${counted(maximum, "item")} after validation, not ${actual}`,
    ctx: { field_type: "Tuple", max_length: maximum, actual_length: actual },
  };
}

/** pydantic stops counting members at the limit, so it does not say how many there were. */
export function dictionaryTooLong(maximum: number): Fault {
  return {
    type: "too_long",
    msg: `Dictionary should have at most ${counted(maximum, "item")} after validation, not more`,
    ctx: { field_type: "Dictionary", max_length: maximum, actual_length: null },
  };
}

export function tooSmall(minimum: number): Fault {
  return {
    type: "greater_than_equal",
    msg: `Input should be greater than or equal to ${minimum}`,
    ctx: { ge: minimum },
  };
}

export function tooLarge(maximum: number): Fault {
  return { type: "less_than_equal", msg: `Input should be less than or equal to ${maximum}`, ctx: { le: maximum } };
}

export function notAbove(bound: number): Fault {
  return { type: "greater_than", msg: `Input should be greater than ${bound}`, ctx: { gt: bound } };
}

export function notBelow(bound: number): Fault {
  return { type: "less_than", msg: `Input should be less than ${bound}`, ctx: { lt: bound } };
}

export function notMultiple(factor: number): Fault {
  return { type: "multiple_of", msg: `Input should be a multiple of ${factor}`, ctx: { multiple_of: factor } };
}

export function notOneOf(type: "enum" | "literal_error", allowed: readonly unknown[]): Fault {
  const quoted = allowed.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  const last = quoted.at(-1) ?? "";
  const expected = quoted.length > 1 ? `${quoted.slice(0, -1).join(", ")} or ${last}` : last;
  return { type, msg: `Input should be ${expected}`, ctx: { expected } };
}

/** A rule of this application beyond the schema. */
export function ruleBroken(message: string): Fault {
  return { type: "value_error", msg: `Value error, ${message}`, ctx: { error: {} } };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
