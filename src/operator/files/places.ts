import type { ValidationError } from "../../api/wire/errors.ts";

export type Loc = ValidationError["loc"];

/** Where the operator wrote what a `loc` of a 422 names, such as `--peak` or `fleet.yaml:3:7`; null where that is unknown. */
export type Places = (loc: Loc) => string | null;

/**
 * Places by the path of a body's members, with dots: `{ "selection.selector.site": "--site" }`. A path that has no place of its own is
 * at that of the nearest member around it; `*` stands for any index.
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

/** What was sent at a `loc`, for a person to recognize; null where nothing was. */
export function valueAt(body: unknown, loc: Loc): string | null {
  let value = body;
  for (const element of loc.slice(1)) {
    if (typeof value !== "object" || value === null) return null;
    value = Object.entries(value).find(([name]) => name === String(element))?.[1];
  }
  if (value === undefined) return null;
  const text = JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

const LONGEST_VALUE = 60;
