import * as z from "zod";

import type { Json } from "../json/parse-json.ts";
import type { Check } from "./check.ts";
import { isObject } from "./check.ts";

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
