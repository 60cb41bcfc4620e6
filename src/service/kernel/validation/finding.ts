import type { Json } from "../json/json.ts";

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

export const MISSING = fault("missing", "Field required");
export const NOT_AN_OBJECT = fault(
  "model_attributes_type",
  "Input should be a valid dictionary or object to extract fields from",
);
export const NOT_A_DICTIONARY = fault("dict_type", "Input should be a valid dictionary");
export const NOT_A_LIST = fault("list_type", "Input should be a valid list");
export const NOT_A_TUPLE = fault("tuple_type", "Input should be a valid tuple");
export const NOT_A_NUMBER = fault("float_type", "Input should be a valid number");
export const NOT_A_STRING = fault("string_type", "Input should be a valid string");
export const NOT_UNICODE = fault(
  "string_unicode",
  "Input should be a valid string, unable to parse raw data as a unicode string",
);
export const NOT_FINITE = fault("finite_number", "Input should be a finite number");
export const NOT_ALLOWED = fault("extra_forbidden", "Extra inputs are not permitted");

export function stringTooShort(minimum: number): Fault {
  const msg = `String should have at least ${counted(minimum, "character")}`;
  return fault("string_too_short", msg, { min_length: minimum });
}

export function stringTooLong(maximum: number): Fault {
  const msg = `String should have at most ${counted(maximum, "character")}`;
  return fault("string_too_long", msg, { max_length: maximum });
}

export function patternMismatch({ source: pattern }: RegExp): Fault {
  return fault("string_pattern_mismatch", `String should match pattern '${pattern}'`, { pattern });
}

export function listTooShort(minimum: number, actual: number): Fault {
  const msg = `List should have at least ${counted(minimum, "item")} after validation, not ${actual}`;
  return fault("too_short", msg, { field_type: "List", min_length: minimum, actual_length: actual });
}

/** @param actual null where pydantic does not say how many there were, because it stops counting members at the limit. */
export function tooLong(kind: "List" | "Tuple" | "Dictionary", maximum: number, actual: number | null): Fault {
  const msg = `${kind} should have at most ${counted(maximum, "item")} after validation, not ${actual ?? "more"}`;
  return fault("too_long", msg, { field_type: kind, max_length: maximum, actual_length: actual });
}

const BOUNDS = {
  ge: ["greater_than_equal", "greater than or equal to"],
  le: ["less_than_equal", "less than or equal to"],
  gt: ["greater_than", "greater than"],
  lt: ["less_than", "less than"],
} as const;

/** @param kind as in `ctx`: what a number has to be, compared with its bound. */
export function outOfBound(kind: keyof typeof BOUNDS, bound: number): Fault {
  const [type, words] = BOUNDS[kind];
  return fault(type, `Input should be ${words} ${bound}`, { [kind]: bound });
}

export function notMultiple(factor: number): Fault {
  return fault("multiple_of", `Input should be a multiple of ${factor}`, { multiple_of: factor });
}

export function notOneOf(type: "enum" | "literal_error", allowed: readonly unknown[]): Fault {
  const quoted = allowed.map((value) => (typeof value === "string" ? `'${value}'` : String(value)));
  const last = quoted.at(-1) ?? "";
  const expected = quoted.length > 1 ? `${quoted.slice(0, -1).join(", ")} or ${last}` : last;
  return fault(type, `Input should be ${expected}`, { expected });
}

/** A rule of this application beyond the schema. */
export function ruleBroken(message: string): Fault {
  return fault("value_error", `Value error, ${message}`, { error: {} });
}

export function fault(type: string, msg: string, ctx?: Finding["ctx"]): Fault {
  return ctx === undefined ? { type, msg } : { type, msg, ctx };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
