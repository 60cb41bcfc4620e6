import * as z from "zod";

import type { Json } from "../json/json.ts";
import { bound, type Check, emptyRecord, isObject } from "./check.ts";
import * as faults from "./finding.ts";
import { plainCheck } from "./scalar-checks.ts";

/** The check of what is in a container. */
type CheckOf = (schema: z.core.$ZodType) => Check;

/**
 * Declared members in the order of the contract, then, where they are refused, unknown ones in the order they were sent. An object that is
 * open to any (`z.looseObject`) keeps unknown members, others ignore them.
 */
export function objectCheck(schema: z.ZodObject, checkOf: CheckOf): Check {
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  const isLoose = schema.def.catchall instanceof z.ZodUnknown;
  const names = new Set(Object.keys(schema.shape));
  const members = Object.entries(schema.shape).map(([name, member]) => ({
    name,
    check: checkOf(member),
    isRequired: !(member instanceof z.ZodOptional || member instanceof z.ZodDefault),
    absent: () => (member instanceof z.ZodDefault ? member.def.defaultValue : undefined),
  }));
  return (input, place) => {
    if (!isObject(input)) return place.refuse(input, faults.NOT_AN_OBJECT);
    const value: Record<string, unknown> = isLoose ? emptyRecord() : {};
    let isIntact = true;
    for (const { name, check, isRequired, absent } of members) {
      const at = place.inside(name);
      const given = input.get(name);
      const read = given === undefined ? absent() : check(given, at);
      if (given === undefined && isRequired) at.refuse(input, faults.MISSING);
      if (read !== undefined) value[name] = read;
      else if (given !== undefined || isRequired) isIntact = false;
    }
    const unknown = isStrict || isLoose ? [...input].filter(([name]) => !names.has(name)) : [];
    for (const [name, member] of unknown) {
      const at = place.inside(name);
      const read = isStrict ? at.refuse(member, faults.NOT_ALLOWED) : plainCheck(member, at);
      if (read === undefined || plainCheck(name, at.inside("[key]")) === undefined) isIntact = false;
      else value[name] = read;
    }
    return isIntact ? value : undefined;
  };
}

/** Members of any name: checks name and value of each, then their number. */
export function recordCheck(schema: z.ZodRecord, checkOf: CheckOf): Check {
  const key = checkOf(schema.def.keyType);
  const member = checkOf(schema.def.valueType);
  const maximum = bound(schema, "maxProperties") ?? Number.POSITIVE_INFINITY;
  return (input, place) => {
    if (!isObject(input)) return place.refuse(input, faults.NOT_A_DICTIONARY);
    const value = emptyRecord();
    const before = place.findings.length;
    let soundCount = 0;
    for (const [name, given] of input) {
      const at = place.inside(name);
      const readName = key(name, at.inside("[key]"));
      const read = member(given, at);
      if (readName === undefined || read === undefined) continue;
      value[name] = read;
      soundCount += 1;
      // pydantic counts the valid members, and with too many of them does not report the invalid ones.
      if (soundCount <= maximum) continue;
      place.findings.length = before;
      return place.refuse(input, faults.tooLong("Dictionary", maximum, null));
    }
    return soundCount === input.size ? value : undefined;
  };
}

/** A list that is too long is refused as a whole; one that is too short only if its items are valid. */
export function arrayCheck(schema: z.ZodArray, checkOf: CheckOf): Check {
  const item = checkOf(schema.def.element);
  const minimum = checkBound(schema, "min_length") ?? 0;
  const maximum = checkBound(schema, "max_length") ?? Number.POSITIVE_INFINITY;
  return (input, place) => {
    if (!Array.isArray(input)) return place.refuse(input, faults.NOT_A_LIST);
    const items: readonly Json[] = input;
    if (items.length > maximum) return place.refuse(input, faults.tooLong("List", maximum, items.length));
    const values = items.map((given, index) => item(given, place.inside(index)));
    if (values.includes(undefined)) return undefined;
    return items.length < minimum ? place.refuse(input, faults.listTooShort(minimum, items.length)) : values;
  };
}

/** A list of fixed length with a schema per item. A missing item is reported at its index. */
export function tupleCheck(schema: z.ZodTuple, checkOf: CheckOf): Check {
  const checks = schema.def.items.map(checkOf);
  if (schema.def.rest !== null)
    throw new Error("The contract has an open tuple, which this validation does not understand");
  return (input, place) => {
    if (!Array.isArray(input)) return place.refuse(input, faults.NOT_A_TUPLE);
    const items: readonly Json[] = input;
    if (items.length > checks.length) return place.refuse(input, faults.tooLong("Tuple", checks.length, items.length));
    const values = checks.map((check, index) => {
      const [at, given] = [place.inside(index), items[index]];
      return given === undefined ? at.refuse(input, faults.MISSING) : check(given, at);
    });
    return values.includes(undefined) ? undefined : values;
  };
}

function checkBound(schema: z.ZodArray, name: "min_length" | "max_length"): number | undefined {
  for (const check of schema.def.checks ?? []) {
    if (name === "min_length" && check instanceof z.core.$ZodCheckMinLength) return check._zod.def.minimum;
    if (name === "max_length" && check instanceof z.core.$ZodCheckMaxLength) return check._zod.def.maximum;
  }
  return undefined;
}

/**
 * A union of objects discriminated by their first literal member, and an optional last schema for everything else. An input with the literal
 * of an object is checked against that object only, so that its findings are about that object.
 */
export function unionCheck({ options }: z.ZodUnion, checkOf: (schema: z.core.$ZodType) => Check): Check {
  const last = options.at(-1);
  if (last === undefined) throw new Error("The contract has a union of nothing");
  const named = options.slice(0, -1).map((option) => ({ says: announcement(option), check: checkOf(option) }));
  const otherwise = checkOf(last);
  return (input, place) => (named.find(({ says }) => says(input))?.check ?? otherwise)(input, place);
}

/** Whether an input has the literal of this object. */
function announcement(option: z.core.$ZodType): (input: Json) => boolean {
  const members = option instanceof z.ZodObject ? Object.entries(option.shape) : [];
  for (const [name, member] of members) {
    if (!(member instanceof z.ZodLiteral)) continue;
    const values: ReadonlySet<unknown> = member.values;
    return (input) => isObject(input) && values.has(input.get(name));
  }
  throw new Error("The contract has a union this validation does not understand: nothing tells its kinds apart");
}
