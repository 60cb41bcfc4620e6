import * as z from "zod";

import { codePoints } from "../../../api/wire/text.ts";
import { isoTime } from "../../../platform/clock.ts";
import type { Json } from "../json/json.ts";
import { bound, type Check, emptyRecord, isObject } from "./check.ts";
import { readDateTime } from "./date-time.ts";
import * as faults from "./finding.ts";
import { readBoolean, readInteger } from "./lax-values.ts";

export function stringCheck(schema: z.ZodString): Check {
  const minimum = bound(schema, "minLength") ?? 0;
  const maximum = bound(schema, "maxLength") ?? Number.POSITIVE_INFINITY;
  const pattern = patternOf(schema);
  refuseOtherBounds(schema);
  return (input, place) => {
    if (typeof input !== "string") return place.refuse(input, faults.NOT_A_STRING);
    if (!input.isWellFormed()) return place.refuse(input, faults.NOT_UNICODE);
    const length = codePoints(input);
    if (length > maximum) return place.refuse(input, faults.stringTooLong(maximum));
    if (length < minimum) return place.refuse(input, faults.stringTooShort(minimum));
    if (pattern !== undefined && !pattern.test(input)) return place.refuse(input, faults.patternMismatch(pattern));
    return input;
  };
}

export const booleanCheck: Check = (input, place) => {
  const read = readBoolean(input);
  return "fault" in read ? place.refuse(input, read.fault) : read.value;
};

export function integerCheck(schema: z.ZodNumber): Check {
  const minimum = schema.minValue ?? Number.MIN_SAFE_INTEGER;
  const maximum = schema.maxValue ?? Number.MAX_SAFE_INTEGER;
  return (input, place) => {
    const read = readInteger(input);
    if ("fault" in read) return place.refuse(input, read.fault);
    if (read.value < minimum) return place.refuse(input, faults.outOfBound("ge", minimum));
    if (read.value > maximum) return place.refuse(input, faults.outOfBound("le", maximum));
    return Number(read.value);
  };
}

/**
 * Numbers as in pydantic's strict mode: no text, no boolean, only finite.
 *
 * @throws for a bound that is not implemented, and would be ignored.
 */
export function numberCheck(schema: z.ZodNumber): Check {
  const bounds = (schema.def.checks ?? []).filter((check) => check._zod.def.check !== "custom").map(boundCheck);
  return (input, place) => {
    if (typeof input !== "number" && typeof input !== "bigint") return place.refuse(input, faults.NOT_A_NUMBER);
    const value = Number(input);
    if (!Number.isFinite(value)) return place.refuse(input, faults.NOT_FINITE);
    for (const bound of bounds) {
      const fault = bound(value);
      if (fault !== null) return place.refuse(input, fault);
    }
    return value;
  };
}

type BoundCheck = (value: number) => faults.Fault | null;

function boundCheck(check: z.core.$ZodCheck): BoundCheck {
  if (check instanceof z.core.$ZodCheckGreaterThan) {
    const { inclusive } = check._zod.def;
    const bound = Number(check._zod.def.value);
    const fault = faults.outOfBound(inclusive ? "ge" : "gt", bound);
    return (value) => ((inclusive ? value >= bound : value > bound) ? null : fault);
  }
  if (check instanceof z.core.$ZodCheckLessThan) {
    const { inclusive } = check._zod.def;
    const bound = Number(check._zod.def.value);
    const fault = faults.outOfBound(inclusive ? "le" : "lt", bound);
    return (value) => ((inclusive ? value <= bound : value < bound) ? null : fault);
  }
  if (check instanceof z.core.$ZodCheckMultipleOf) {
    const factor = Number(check._zod.def.value);
    const fault = faults.notMultiple(factor);
    return (value) => (value % factor === 0 ? null : fault);
  }
  throw new Error("The contract bounds a number in a way this validation does not understand");
}

export function choiceCheck(type: "enum" | "literal_error", allowed: readonly unknown[]): Check {
  return (input, place) => (allowed.includes(input) ? input : place.refuse(input, faults.notOneOf(type, allowed)));
}

export function dateTimeCheck(schema: z.ZodISODateTime): Check {
  const needsOffset = !schema._zod.def.local;
  return (input, place) => {
    const read = readDateTime(input);
    if ("fault" in read) return place.refuse(input, read.fault);
    if (needsOffset && !read.value.hasOffset) {
      return place.refuse(input, { type: "timezone_aware", msg: "Input should have timezone info" });
    }
    return isoTime(read.value.epochMs);
  };
}

/** Any JSON value as plain data. NaN and infinities are refused, because JSON cannot represent them in answers. */
export const plainCheck: Check = (input, place) => {
  if (typeof input === "number") return Number.isFinite(input) ? input : place.refuse(input, faults.NOT_FINITE);
  if (typeof input === "string") return input.isWellFormed() ? input : place.refuse(input, faults.NOT_UNICODE);
  if (isObject(input)) {
    const value = emptyRecord();
    let isIntact = true;
    for (const [name, member] of input) {
      const at = place.inside(name);
      const readName = plainCheck(name, at.inside("[key]"));
      const read = plainCheck(member, at);
      if (readName === undefined || read === undefined) isIntact = false;
      else value[name] = read;
    }
    return isIntact ? value : undefined;
  }
  if (!Array.isArray(input)) return input;
  const items: readonly Json[] = input;
  const values = items.map((item, index) => plainCheck(item, place.inside(index)));
  return values.includes(undefined) ? undefined : values;
};

/** Refuses bounds that are not implemented. The contract's `text` counts characters, zod's own bounds count UTF-16 units. */
function refuseOtherBounds(schema: z.ZodString): void {
  const isKnown = (check: z.core.$ZodCheck) =>
    check._zod.def.check === "custom" || check instanceof z.core.$ZodCheckRegex;
  if ("format" in schema.def || !(schema.def.checks ?? []).every(isKnown)) {
    throw new Error("The contract bounds a string in a way this validation does not understand: use text()");
  }
}

function patternOf(schema: z.ZodString): RegExp | undefined {
  return (schema.def.checks ?? []).find((check) => check instanceof z.core.$ZodCheckRegex)?._zod.def.pattern;
}
