import type * as z from "zod";

import type { Json, JsonObject } from "../json/json.ts";
import type { Fault, Finding, Location } from "./finding.ts";

/** Reads one input. Returns undefined if and only if it is invalid; the findings are added to the place. */
export type Check = (input: Json, place: Place) => unknown;

/** Findings per answer: a megabyte of wrong members would otherwise cause many megabytes of findings. */
export const FINDINGS_MAXIMUM = 256;

/** The location of an input in the request, and all findings of the request so far. */
export class Place {
  readonly findings: Finding[];
  readonly #outer: Place | null;
  readonly #names: Location;

  constructor(findings: Finding[], names: Location, outer: Place | null = null) {
    this.findings = findings;
    this.#outer = outer;
    this.#names = names;
  }

  /** The place of a member or an item. */
  inside(name: string | number): Place {
    return new Place(this.findings, [name], this);
  }

  refuse(input: Json, fault: Fault): undefined {
    if (this.findings.length < FINDINGS_MAXIMUM) this.findings.push({ ...fault, loc: this.#location(), input });
  }

  /** Built only for findings: most places have none, and deep in a large body the path is long. */
  #location(): Location {
    const parts = [this.#names];
    for (let place = this.#outer; place !== null; place = place.#outer) parts.unshift(place.#names);
    return parts.flat();
  }
}

export function isObject(input: Json): input is JsonObject {
  return input instanceof Map;
}

/** The value at a path in an input; null if there is none. */
export function inputAt(input: Json, [step, ...rest]: Location): Json {
  if (step === undefined) return input;
  const member = isObject(input) ? input.get(String(step)) : itemAt(input, Number(step));
  return member === undefined ? null : inputAt(member, rest);
}

function itemAt(input: Json, index: number): Json | undefined {
  if (!Array.isArray(input)) return undefined;
  const items: readonly Json[] = input;
  return items[index];
}

/** Without a prototype, `__proto__` is a member like any other. */
export function emptyRecord(): Record<string, unknown> {
  return Object.create(null);
}

/** A bound the contract attached as JSON Schema metadata. */
export function bound(schema: z.ZodType, name: "minLength" | "maxLength" | "maxProperties"): number | undefined {
  const value = schema.meta()?.[name];
  return typeof value === "number" ? value : undefined;
}
