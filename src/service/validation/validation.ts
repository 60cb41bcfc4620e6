/**
 * The one validation of request bodies: reads a zod schema of the contract and answers as FastAPI with pydantic would.
 *
 * zod's own parser stops at what JavaScript can tell apart; the answers clients know depend on more (order of members, exact
 * numbers, lax integers, characters instead of UTF-16 units). So the schema says what is wanted, and this walks it.
 * Understood: objects (strict or not), records, arrays, strings (`text` of the contract), integers, booleans, enumerations,
 * literals, date-times, unknown, and optional, nullable, default around them, each with refinements.
 */
import * as z from "zod";

import { codePoints } from "../../api/text.ts";
import type { Json, JsonObject } from "../json/parse-json.ts";
import { readDateTime } from "./date-time.ts";
import type { Fault, Finding, Location } from "./finding.ts";
import * as faults from "./finding.ts";
import { readInteger } from "./integer.ts";

export type Validated<T> =
  | { readonly state: "valid"; readonly value: T }
  | { readonly state: "invalid"; readonly findings: readonly Finding[] };

/** Checks `input` against `schema`; `location` is where the input sits in the request. */
export function validate<S extends z.ZodType>(schema: S, input: Json, location: Location): Validated<z.output<S>> {
  const findings: Finding[] = [];
  const value = checkOf(schema)(input, { location, findings });
  return isSound(schema, value, findings) ? { state: "valid", value } : { state: "invalid", findings };
}

/** The walk visited every member the schema names: no finding means the value is what the schema promises. */
function isSound<S extends z.ZodType>(_schema: S, value: unknown, findings: readonly Finding[]): value is z.output<S> {
  return value !== undefined && findings.length === 0;
}

interface Place {
  readonly location: Location;
  readonly findings: Finding[];
}

/** Reads one input; what is wrong goes to `findings`, and undefined comes back. */
type Check = (input: Json, place: Place) => unknown;

const checks = new WeakMap<z.core.$ZodType, Check>();

function checkOf(schema: z.core.$ZodType): Check {
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const check = withRules(schema, buildCheck(schema));
  checks.set(schema, check);
  return check;
}

function buildCheck(schema: z.core.$ZodType): Check {
  if (schema instanceof z.ZodObject) return objectCheck(schema);
  if (schema instanceof z.ZodRecord) return recordCheck(schema);
  if (schema instanceof z.ZodArray) return arrayCheck(schema);
  if (schema instanceof z.ZodISODateTime) return dateTimeCheck(schema);
  if (schema instanceof z.ZodString) return stringCheck(schema);
  if (schema instanceof z.ZodNumber) return integerCheck(schema);
  if (schema instanceof z.ZodBoolean) return booleanCheck;
  if (schema instanceof z.ZodEnum) return choiceCheck("enum", schema.options.map(String));
  if (schema instanceof z.ZodLiteral) return choiceCheck("literal_error", [...schema.values].map(String));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return checkOf(schema.def.innerType);
  if (schema instanceof z.ZodNullable) {
    const inner = checkOf(schema.def.innerType);
    return (input, place) => (input === null ? null : inner(input, place));
  }
  if (schema instanceof z.ZodUnknown) return plain;
  throw new Error(`The contract uses a schema this validation does not understand: ${schema._zod.def.type}`);
}

/** One answer tells this many; a megabyte of wrong members would otherwise become many megabytes of findings. */
export const FINDINGS_MAXIMUM = 256;

function refuse(place: Place, input: Json, fault: Fault): undefined {
  if (place.findings.length < FINDINGS_MAXIMUM) place.findings.push({ ...fault, loc: place.location, input });
}

function isObject(input: Json): input is JsonObject {
  return input instanceof Map;
}

function objectCheck(schema: z.ZodObject): Check {
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  const names = new Set(Object.keys(schema.shape));
  const members = Object.entries(schema.shape).map(([name, member]) => ({
    name,
    check: checkOf(member),
    isRequired: !(member instanceof z.ZodOptional || member instanceof z.ZodDefault),
    absent: () => (member instanceof z.ZodDefault ? member.def.defaultValue : undefined),
  }));
  return (input, place) => {
    if (!isObject(input)) return refuse(place, input, faults.NOT_AN_OBJECT);
    const value: Record<string, unknown> = {};
    for (const { name, check, isRequired, absent } of members) {
      const at = { ...place, location: [...place.location, name] };
      const given = input.get(name);
      const read = given === undefined ? absent() : check(given, at);
      if (given === undefined && isRequired) refuse(at, input, faults.MISSING);
      if (read !== undefined) value[name] = read;
    }
    if (isStrict) {
      for (const [name, member] of input) {
        if (names.has(name)) continue;
        refuse({ ...place, location: [...place.location, name] }, member, faults.NOT_ALLOWED);
      }
    }
    return value;
  };
}

function recordCheck(schema: z.ZodRecord): Check {
  const key = checkOf(schema.def.keyType);
  const member = checkOf(schema.def.valueType);
  const maximum = bound(schema, "maxProperties");
  return (input, place) => {
    if (!isObject(input)) return refuse(place, input, faults.NOT_A_DICTIONARY);
    const value = emptyRecord();
    const before = place.findings.length;
    for (const [name, given] of input) {
      const at = { ...place, location: [...place.location, name] };
      key(name, { ...place, location: [...at.location, "[key]"] });
      value[name] = member(given, at);
    }
    if (place.findings.length > before) return undefined;
    return maximum !== undefined && input.size > maximum
      ? refuse(place, input, faults.dictionaryTooLong(maximum))
      : value;
  };
}

function arrayCheck(schema: z.ZodArray): Check {
  const item = checkOf(schema.def.element);
  const minimum = checkBound(schema, "min_length") ?? 0;
  const maximum = checkBound(schema, "max_length") ?? Number.POSITIVE_INFINITY;
  return (input, place) => {
    if (!Array.isArray(input)) return refuse(place, input, faults.NOT_A_LIST);
    const items: readonly Json[] = input;
    if (items.length > maximum) return refuse(place, input, faults.listTooLong(maximum, items.length));
    if (items.length < minimum) return refuse(place, input, faults.listTooShort(minimum, items.length));
    return items.map((given, index) => item(given, { ...place, location: [...place.location, index] }));
  };
}

function stringCheck(schema: z.ZodString): Check {
  const minimum = bound(schema, "minLength") ?? 0;
  const maximum = bound(schema, "maxLength") ?? Number.POSITIVE_INFINITY;
  const pattern = patternOf(schema);
  return (input, place) => {
    if (typeof input !== "string") return refuse(place, input, faults.NOT_A_STRING);
    if (!input.isWellFormed()) return refuse(place, input, faults.NOT_UNICODE);
    const length = codePoints(input);
    if (length > maximum) return refuse(place, input, faults.stringTooLong(maximum));
    if (length < minimum) return refuse(place, input, faults.stringTooShort(minimum));
    if (pattern !== undefined && !pattern.test(input)) return refuse(place, input, faults.patternMismatch(pattern));
    return input;
  };
}

function integerCheck(schema: z.ZodNumber): Check {
  const minimum = schema.minValue ?? Number.MIN_SAFE_INTEGER;
  const maximum = schema.maxValue ?? Number.MAX_SAFE_INTEGER;
  return (input, place) => {
    const read = readInteger(input);
    if ("fault" in read) return refuse(place, input, read.fault);
    if (read.value < minimum) return refuse(place, input, faults.tooSmall(minimum));
    if (read.value > maximum) return refuse(place, input, faults.tooLarge(maximum));
    return read.value;
  };
}

const booleanCheck: Check = (input, place) =>
  typeof input === "boolean" ? input : refuse(place, input, faults.NOT_A_BOOLEAN);

function choiceCheck(type: "enum" | "literal_error", allowed: readonly string[]): Check {
  return (input, place) =>
    typeof input === "string" && allowed.includes(input) ? input : refuse(place, input, faults.notOneOf(type, allowed));
}

function dateTimeCheck(schema: z.ZodISODateTime): Check {
  const needsOffset = schema._zod.def.local !== true;
  return (input, place) => {
    const read = readDateTime(input);
    if ("fault" in read) return refuse(place, input, read.fault);
    if (needsOffset && !read.value.has_offset) {
      return refuse(place, input, { type: "timezone_aware", msg: "Input should have timezone info" });
    }
    return new Date(read.value.epoch_ms).toISOString();
  };
}

/** Any JSON, as plain data. A number JSON itself cannot say could never be sent back. */
const plain: Check = (input, place) => {
  if (typeof input === "number") return Number.isFinite(input) ? input : refuse(place, input, faults.NOT_FINITE);
  if (isObject(input)) {
    const value = emptyRecord();
    for (const [name, member] of input) value[name] = plain(member, { ...place, location: [...place.location, name] });
    return value;
  }
  if (!Array.isArray(input)) return input;
  const items: readonly Json[] = input;
  return items.map((item, index) => plain(item, { ...place, location: [...place.location, index] }));
};

/** Without a prototype, `__proto__` is a member like any other. */
function emptyRecord(): Record<string, unknown> {
  return Object.create(null);
}

/** Refinements run as pydantic's validators do: only on a value that is right in itself. */
function withRules(schema: z.core.$ZodType, check: Check): Check {
  const rules = (schema._zod.def.checks ?? []).filter((rule) => rule instanceof z.core.$ZodCustom);
  if (rules.length === 0) return check;
  return (input, place) => {
    const before = place.findings.length;
    const value = check(input, place);
    if (value === undefined || place.findings.length > before) return undefined;
    const broken = rules.find((rule) => rule._zod.def.fn(value) !== true);
    return broken === undefined ? value : refuse(place, input, faults.ruleBroken(messageOf(broken, value)));
  };
}

function messageOf(rule: z.core.$ZodCustom, value: unknown): string {
  const message = rule._zod.def.error?.({ code: "custom", input: value, path: [], inst: rule });
  return (typeof message === "string" ? message : message?.message) ?? "not allowed";
}

/** A bound the contract attached as JSON Schema metadata. */
function bound(schema: z.ZodType, name: "minLength" | "maxLength" | "maxProperties"): number | undefined {
  const value = schema.meta()?.[name];
  return typeof value === "number" ? value : undefined;
}

function checkBound(schema: z.ZodArray, name: "min_length" | "max_length"): number | undefined {
  for (const check of schema.def.checks ?? []) {
    if (name === "min_length" && check instanceof z.core.$ZodCheckMinLength) return check._zod.def.minimum;
    if (name === "max_length" && check instanceof z.core.$ZodCheckMaxLength) return check._zod.def.maximum;
  }
  return undefined;
}

function patternOf(schema: z.ZodString): RegExp | undefined {
  return (schema.def.checks ?? []).find((check) => check instanceof z.core.$ZodCheckRegex)?._zod.def.pattern;
}
