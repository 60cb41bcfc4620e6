import * as z from "zod";

/** Bounds of a text in code points, as Python counts characters, not in UTF-16 units. */
interface TextBounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: RegExp;
}

/**
 * A string member of the wire contract.
 *
 * No text contains unpaired surrogates, which have no UTF-8 encoding, or NUL, which PostgreSQL cannot store. The bounds are attached as
 * JSON Schema metadata, where the service's validation and the OpenAPI description read them.
 */
export function text(bounds: TextBounds = {}): z.ZodString {
  const { minimum, maximum, pattern } = bounds;
  const bounded = z.string().check((context) => {
    const length = codePoints(context.value);
    if (minimum !== undefined && length < minimum) {
      context.issues.push({ code: "too_small", origin: "string", minimum, inclusive: true, input: context.value });
    }
    if (maximum !== undefined && length > maximum) {
      context.issues.push({ code: "too_big", origin: "string", maximum, inclusive: true, input: context.value });
    }
  });
  const matched = pattern === undefined ? bounded : bounded.regex(pattern);
  return matched
    .refine((value) => value.isWellFormed(), "text must be valid Unicode")
    .refine((value) => !value.includes("\0"), "text must not contain NUL characters")
    .meta({
      ...(minimum === undefined ? {} : { minLength: minimum }),
      ...(maximum === undefined ? {} : { maxLength: maximum }),
    });
}

/** Number of code points; an unpaired surrogate counts as one. */
export function codePoints(value: string): number {
  let count = 0;
  for (let index = 0; index < value.length; index += 1) {
    const unit = value.charCodeAt(index);
    const isPair = unit >= 0xd800 && unit <= 0xdbff && (value.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
    if (isPair) index += 1;
    count += 1;
  }
  return count;
}

/** The values of a member with their meanings, for its description: `ready: all is well. blocked: …`. */
export function describeValues(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([value, meaning]) => `${value}: ${meaning}.`)
    .join(" ");
}
