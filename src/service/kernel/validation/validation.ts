/**
 * The one validation of request bodies: reads a zod schema of the contract and answers as FastAPI with pydantic would.
 *
 * zod's own parser stops at what JavaScript can tell apart; the answers clients know depend on more (order of members, exact
 * numbers, lax integers, characters instead of UTF-16 units). So the schema says what is wanted, and this walks it.
 * Understood: objects (strict or not), records, arrays, tuples, strings (`text` of the contract), integers, numbers,
 * enumerations, literals, date-times, unknown, unions of objects that a literal member tells apart and of whatever else there
 * is, and optional, nullable, default around them, each with refinements.
 */
import * as z from "zod";

import type { Json } from "../json/parse-json.ts";
import type { Check } from "./check.ts";
import { inputAt, Place } from "./check.ts";
import { arrayCheck, objectCheck, recordCheck, tupleCheck } from "./container-checks.ts";
import type { Finding, Location } from "./finding.ts";
import { ruleBroken } from "./finding.ts";
import { choiceCheck, dateTimeCheck, integerCheck, numberCheck, plainCheck, stringCheck } from "./scalar-checks.ts";
import { unionCheck } from "./union-check.ts";

export type Validated<T> =
  | { readonly state: "valid"; readonly value: T }
  | { readonly state: "invalid"; readonly findings: readonly Finding[] };

/** Checks `input` against `schema`; `location` is where the input sits in the request. */
export function validate<S extends z.ZodType>(schema: S, input: Json, location: Location): Validated<z.output<S>> {
  const findings: Finding[] = [];
  const value = checkOf(schema)(input, new Place(findings, location));
  return isSound(schema, value) ? { state: "valid", value } : { state: "invalid", findings };
}

/** The walk visited every member the schema names: what it did not refuse is what the schema promises. */
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

/** Refinements run as pydantic's validators do: only on a value that is right in itself, and none after one that is broken. */
function withRules(schema: z.core.$ZodType, check: Check): Check {
  const rules = (schema._zod.def.checks ?? []).filter(isRule);
  if (rules.length === 0) return check;
  return (input, place) => {
    const value = check(input, place);
    if (value === undefined) return undefined;
    const issues: z.core.$ZodRawIssue[] = [];
    for (const rule of rules) {
      // The refinements of the contract are synchronous, so this never is a promise.
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

/** What refinements say. Bounds that `text` and others add this way too are left out: they were looked at before, exactly. */
function brokenRules(issues: readonly z.core.$ZodRawIssue[]): readonly Broken[] {
  return issues
    .filter(({ code }) => code === "custom")
    .map((issue) => {
      const { path, message } = z.core.util.finalizeIssue(issue, undefined, z.core.config());
      return { path: path.filter((step) => typeof step !== "symbol"), message };
    });
}
