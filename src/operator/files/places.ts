import type { ValidationError } from "../../api/wire/errors.ts";
import { maskSecrets } from "../../api/wire/service-key.ts";

export type Loc = ValidationError["loc"];

/** Maps a `loc` of a 422 to the operator's flag or file position, such as `--peak` or `fleet.yaml:3:7`; null where that is unknown. */
export type Places = (loc: Loc) => string | null;

/**
 * Flags by dotted path in the body: `{ "selection.selector.site": "--site" }`. A path without an entry uses that of its nearest ancestor;
 * `*` stands for any index.
 */
export function flagPlaces(flags: Readonly<Record<string, string>>): Places {
  const places = new Map(Object.entries(flags));
  return (loc) => {
    const path = loc.slice(1).map((element) => (typeof element === "number" ? "*" : element));
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
