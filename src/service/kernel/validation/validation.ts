/**
 * Validates request bodies by a zod schema of the contract, with the findings of FastAPI and pydantic.
 *
 * zod's own parser works on JavaScript values, but these answers depend on more (order of members, exact numbers, lax integers and
 * booleans, characters instead of UTF-16 units). So this walks the schema itself.
 * Supported: objects (strict or not), records, arrays, tuples, strings (`text` of the contract), booleans, integers, numbers,
 * enumerations, literals, date-times, unknown, unions of objects discriminated by a literal member, with one
 * other schema, and optional, nullable, default around them, each with refinements.
 */
import * as z from "zod";

import type { Json } from "../json/json.ts";
import { type Check, inputAt, Place } from "./check.ts";
import { arrayCheck, objectCheck, recordCheck, tupleCheck, unionCheck } from "./container-checks.ts";
import { type Finding, type Location, ruleBroken } from "./finding.ts";
import {
  booleanCheck,
  choiceCheck,
  dateTimeCheck,
  integerCheck,
  numberCheck,
  plainCheck,
  stringCheck,
} from "./scalar-checks.ts";

export type Validated<T> =
  | { readonly state: "valid"; readonly value: T }
  | { readonly state: "invalid"; readonly findings: readonly Finding[] };

/** Checks `input` against `schema`; `location` is the input's location in the request. */
export function validate<S extends z.ZodType>(schema: S, input: Json, location: Location): Validated<z.output<S>> {
  const findings: Finding[] = [];
  const value = checkOf(schema)(input, new Place(findings, location));
  return isSound(schema, value) ? { state: "valid", value } : { state: "invalid", findings };
}

/** Types the result: the walk has checked every member of the schema. */
function isSound<S extends z.ZodType>(_schema: S, value: unknown): value is z.output<S> {
  return value !== undefined;
}

const checks = new WeakMap<z.core.$ZodType, Check>();

function checkOf(schema: z.core.$ZodType): Check {
  const known = checks.get(schema);
  if (known !== undefined) return known;
  const check = withRules(schema, buildCheck(schema));
  checks.set(schema, check);
  return check;
}

function buildCheck(schema: z.core.$ZodType): Check {
  if (schema instanceof z.ZodObject) return objectCheck(schema, checkOf);
  if (schema instanceof z.ZodRecord) return recordCheck(schema, checkOf);
  if (schema instanceof z.ZodArray) return arrayCheck(schema, checkOf);
  if (schema instanceof z.ZodTuple) return tupleCheck(schema, checkOf);
  if (schema instanceof z.ZodUnion) return unionCheck(schema, checkOf);
  if (schema instanceof z.ZodISODateTime) return dateTimeCheck(schema);
  if (schema instanceof z.ZodString) return stringCheck(schema);
  if (schema instanceof z.ZodBoolean) return booleanCheck;
  if (schema instanceof z.ZodNumber) return schema.format === "safeint" ? integerCheck(schema) : numberCheck(schema);
  if (schema instanceof z.ZodEnum) return choiceCheck("enum", schema.options);
  if (schema instanceof z.ZodLiteral) return choiceCheck("literal_error", [...schema.values]);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return checkOf(schema.def.innerType);
  if (schema instanceof z.ZodNullable) {
    const inner = checkOf(schema.def.innerType);
    return (input, place) => (input === null ? null : inner(input, place));
  }
  if (schema instanceof z.ZodUnknown) return plainCheck;
  throw new Error(`The contract uses a schema this validation does not understand: ${schema._zod.def.type}`);
}

/** Refinements run like pydantic's validators: only on a valid value, and none after one that fails. */
function withRules(schema: z.core.$ZodType, check: Check): Check {
  const rules = (schema._zod.def.checks ?? []).filter(isRule);
  if (rules.length === 0) return check;
  return (input, place) => {
    const value = check(input, place);
    if (value === undefined) return undefined;
    const issues: z.core.$ZodRawIssue[] = [];
    for (const rule of rules) {
      // The contract has only synchronous refinements, so this is never a promise.
      void rule._zod.check({ value, issues });
      if (issues.length === 0) continue;
      const broken = brokenRules(issues);
      for (const { path, message } of broken) {
        path.reduce((at, step) => at.inside(step), place).refuse(inputAt(input, path), ruleBroken(message));
      }
      if (broken.length > 0) return undefined;
    }
    return value;
  };
}

type Rule = z.core.$ZodCheck<unknown>;

function isRule(check: z.core.$ZodCheck): check is Rule {
  return check._zod.def.check === "custom";
}

interface Broken {
  /** From the value inwards. */
  readonly path: Location;
  readonly message: string;
}

/** The findings of refinements, without the bounds of `text` and others, which were checked before, exactly. */
function brokenRules(issues: readonly z.core.$ZodRawIssue[]): readonly Broken[] {
  return issues
    .filter(({ code }) => code === "custom")
    .map((issue) => {
      const { path, message } = z.core.util.finalizeIssue(issue, undefined, z.core.config());
      return { path: path.filter((step) => typeof step !== "symbol"), message };
    });
}
