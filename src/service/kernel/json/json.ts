import { codePoints } from "../../../api/wire/text.ts";

/**
 * A JSON value: members keep their order whatever their names (`10`, `__proto__`), of duplicates the last value takes the place of the
 * first, integers beyond 2^53 are exact.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject;
export type JsonObject = ReadonlyMap<string, Json>;

/**
 * `invalid`: not JSON, with message and position of Python's decoder. `too-much`: over a limit below. `too-many`: more values than
 * `valuesMaximum`.
 */
export type ParsedJson =
  | { readonly state: "parsed"; readonly value: Json }
  | { readonly state: "invalid"; readonly message: string; readonly position: number }
  | { readonly state: "too-much" | "too-many" };

/** Nesting depth of arrays and objects. Requests of the contract need five. */
export const JSON_DEPTH_MAXIMUM = 512;
/** Digits of one integer, the same limit as Python's: converting more would be the most expensive part of a request. */
export const JSON_INTEGER_DIGITS_MAXIMUM = 4300;

/**
 * Parses a JSON text as CPython 3.12's `json.loads` does: `NaN`, `Infinity` and `-Infinity` are numbers, an unpaired
 * surrogate escape is a character, control characters in strings are refused.
 *
 * @param valuesMaximum of arrays, objects, texts, numbers and constants, nested ones included. Parsing stops at the first value beyond it.
 * @returns positions in code points from the start of the text.
 */
export function parseJson(text: string, valuesMaximum = Number.POSITIVE_INFINITY): ParsedJson {
  const parser = new Parser(text, valuesMaximum);
  try {
    return { state: "parsed", value: parser.document() };
  } catch (error) {
    if (error instanceof Stop) return error.outcome;
    throw error;
  }
}

/** Ends the parsing of a text that cannot be parsed. */
class Stop extends Error {
  readonly outcome: ParsedJson;

  constructor(outcome: ParsedJson) {
    super();
    this.outcome = outcome;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const HEX_4 = /^[0-9a-fA-F]{4}$/;

interface Constant {
  readonly word: string;
  readonly value: Json;
}

const CONSTANTS: ReadonlyMap<string, Constant> = new Map<string, Constant>([
  ["n", { word: "null", value: null }],
  ["t", { word: "true", value: true }],
  ["f", { word: "false", value: false }],
  ["N", { word: "NaN", value: Number.NaN }],
  ["I", { word: "Infinity", value: Number.POSITIVE_INFINITY }],
]);
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

class Parser {
  readonly #text: string;
  #index = 0;
  #depth = 0;
  #valuesLeft: number;

  constructor(text: string, valuesMaximum: number) {
    this.#text = text;
    this.#valuesLeft = valuesMaximum;
  }

  document(): Json {
    this.#skipSpace();
    const value = this.#value();
    this.#skipSpace();
    if (this.#index < this.#text.length) throw this.#invalid("Extra data", this.#index);
    return value;
  }

  #value(): Json {
    this.#valuesLeft -= 1;
    if (this.#valuesLeft < 0) throw new Stop({ state: "too-many" });
    const first = this.#text.charAt(this.#index);
    if (first === '"') return this.#string();
    if (first === "{") return this.#nested(() => this.#object());
    if (first === "[") return this.#nested(() => this.#array());
    const constant = CONSTANTS.get(first);
    return constant === undefined ? this.#number() : this.#constant(constant);
  }

  #nested<T>(parse: () => T): T {
    this.#depth += 1;
    if (this.#depth > JSON_DEPTH_MAXIMUM) throw new Stop({ state: "too-much" });
    const value = parse();
    this.#depth -= 1;
    return value;
  }

  #object(): JsonObject {
    const members = new Map<string, Json>();
    this.#index += 1;
    this.#skipSpace();
    if (this.#take("}")) return members;
    for (;;) {
      if (this.#text.charAt(this.#index) !== '"') {
        throw this.#invalid("Expecting property name enclosed in double quotes", this.#index);
      }
      const name = this.#string();
      this.#skipSpace();
      if (!this.#take(":")) throw this.#invalid("Expecting ':' delimiter", this.#index);
      this.#skipSpace();
      members.set(name, this.#value());
      this.#skipSpace();
      if (this.#take("}")) return members;
      if (!this.#take(",")) throw this.#invalid("Expecting ',' delimiter", this.#index);
      this.#skipSpace();
    }
  }

  #array(): Json[] {
    const items: Json[] = [];
    this.#index += 1;
    this.#skipSpace();
    if (this.#take("]")) return items;
    for (;;) {
      items.push(this.#value());
      this.#skipSpace();
      if (this.#take("]")) return items;
      if (!this.#take(",")) throw this.#invalid("Expecting ',' delimiter", this.#index);
      this.#skipSpace();
    }
  }

  #string(): string {
    const begin = this.#index;
    let value = "";
    this.#index += 1;
    for (let start = this.#index; ;) {
      const code = this.#text.charCodeAt(this.#index);
      if (Number.isNaN(code)) throw this.#invalid("Unterminated string starting at", begin);
      if (code === 0x22) {
        value += this.#text.slice(start, this.#index);
        this.#index += 1;
        return value;
      }
      if (code < 0x20) throw this.#invalid("Invalid control character at", this.#index);
      if (code === 0x5c) {
        value += this.#text.slice(start, this.#index) + this.#escape(begin);
        start = this.#index;
      } else {
        this.#index += 1;
      }
    }
  }

  #escape(begin: number): string {
    const letter = this.#text.charAt(this.#index + 1);
    if (letter === "") throw this.#invalid("Unterminated string starting at", begin);
    if (letter === "u") {
      const digits = this.#text.slice(this.#index + 2, this.#index + 6);
      // At the end of the text Python reports the escape, even a complete one, not the unterminated string.
      const isLast = this.#index + 6 >= this.#text.length;
      if (isLast || !HEX_4.test(digits)) throw this.#invalid("Invalid \\uXXXX escape", this.#index + 1);
      this.#index += 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const character = ESCAPES.get(letter);
    if (character === undefined) throw this.#invalid("Invalid \\escape", this.#index);
    this.#index += 2;
    return character;
  }

  #constant({ word, value }: Constant): Json {
    if (!this.#text.startsWith(word, this.#index)) throw this.#invalid("Expecting value", this.#index);
    this.#index += word.length;
    return value;
  }

  #number(): number | bigint {
    if (this.#text.startsWith("-Infinity", this.#index)) {
      this.#index += "-Infinity".length;
      return Number.NEGATIVE_INFINITY;
    }
    NUMBER.lastIndex = this.#index;
    const match = NUMBER.exec(this.#text);
    if (match === null) throw this.#invalid("Expecting value", this.#index);
    const [literal, fraction, exponent] = match;
    this.#index += literal.length;
    const value = Number(literal);
    if (fraction !== undefined || exponent !== undefined) return value;
    if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
    if (literal.length > JSON_INTEGER_DIGITS_MAXIMUM) throw new Stop({ state: "too-much" });
    return BigInt(literal);
  }

  #invalid(message: string, index: number): Stop {
    return new Stop({ state: "invalid", message, position: codePoints(this.#text.slice(0, index)) });
  }

  #take(character: string): boolean {
    if (this.#text.charAt(this.#index) !== character) return false;
    this.#index += 1;
    return true;
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#index);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#index += 1;
    }
  }
}

/**
 * Prints values of `parseJson`, or plain data that contains them, as JSON: exact integers, members in their order.
 *
 * Numbers outside of JSON (NaN, infinities) become null, and unpaired surrogates are escaped, so the result is always valid UTF-8 JSON.
 */
export function printJson(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (value === undefined || value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(printJson).join(",")}]`;
  const members =
    value instanceof Map ? [...value] : Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${printJson(member)}`).join(",")}}`;
}
