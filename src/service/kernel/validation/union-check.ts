import * as z from "zod";

import type { Json } from "../json/parse-json.ts";
import type { Check } from "./check.ts";
import { isObject } from "./check.ts";

/**
 * Objects that say what they are in a member with one possible value, the first such member of each, and last whatever else is
 * allowed: an input that says it is one of them is held to that one alone, so that its findings are about what it means to be.
 */
export function unionCheck({ options }: z.ZodUnion, checkOf: (schema: z.core.$ZodType) => Check): Check {
  const last = options.at(-1);
  if (last === undefined) throw new Error("The contract has a union of nothing");
  const named = options.slice(0, -1).map((option) => ({ says: announcement(option), check: checkOf(option) }));
  const otherwise = checkOf(last);
  return (input, place) => (named.find(({ says }) => says(input))?.check ?? otherwise)(input, place);
}

/** Whether an input says it is of this kind. */
function announcement(option: z.core.$ZodType): (input: Json) => boolean {
  const members = option instanceof z.ZodObject ? Object.entries(option.shape) : [];
  for (const [name, member] of members) {
    if (!(member instanceof z.ZodLiteral)) continue;
    const values: ReadonlySet<unknown> = member.values;
    return (input) => isObject(input) && values.has(input.get(name));
  }
  throw new Error("The contract has a union this validation does not understand: nothing tells its kinds apart");
}
