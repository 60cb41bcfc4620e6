/** The body of a request from the flags and the file of a command, and the way back: from a finding of the service to flag, file and value. */
import type { ValidationError } from "../api/wire/errors.ts";
import { maskSecrets } from "../api/wire/service-key.ts";
import { isObject } from "../platform/is-object.ts";
import { type Flags, flagName, type Given, placesOf } from "./flags.ts";

export type Loc = ValidationError["loc"];

/** Maps a `loc` of a 422 to the operator's flag or file position, such as `--peak` or `fleet.yaml:3:7`; null where that is unknown. */
export type Places = (loc: Loc) => string | null;

/** The members that the given flags are declared to be in the body. */
export function bodyOf<Declared extends Flags>(declared: Declared, given: Given<Declared>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const values = new Map<string, unknown>(Object.entries(given));
  for (const { name, place } of placesOf(declared)) {
    const value = values.get(name);
    if (value === undefined) continue;
    let inner = body;
    for (const member of place.slice(0, -1)) {
      const there = inner[member];
      const below = isObject(there) ? there : {};
      inner[member] = below;
      inner = below;
    }
    inner[place.at(-1) ?? ""] = value;
  }
  return body;
}

/**
 * Where the members of a body come from: the flag that is declared for them, or the nearest one around them.
 *
 * @param words for members that an argument says: `{ subject: "MODEL" }`.
 */
export function flagPlaces(declared: Flags, words: Readonly<Record<string, string>> = {}): Places {
  const places = new Map(placesOf(declared).map(({ name, place }) => [place.join("."), flagName(name)]));
  for (const [place, word] of Object.entries(words)) places.set(place, word);
  return (loc) => {
    const path = loc.slice(1).filter((element) => typeof element === "string");
    for (let length = path.length; length > 0; length -= 1) {
      const place = places.get(path.slice(0, length).join("."));
      if (place !== undefined) return place;
    }
    return null;
  };
}

/** The value that was sent at a `loc`, shortened; null where there was none. */
export function valueAt(body: unknown, loc: Loc): string | null {
  let value = body;
  for (const element of loc.slice(1)) {
    if (typeof value !== "object" || value === null) return null;
    value = Object.entries(value).find(([name]) => name === String(element))?.[1];
  }
  if (value === undefined) return null;
  // Before the cut: the beginning of a key that is glued to other text does not look like one.
  const text = maskSecrets(JSON.stringify(value));
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

const LONGEST_VALUE = 60;
