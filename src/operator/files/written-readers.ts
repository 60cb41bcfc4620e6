import * as z from "zod";

import { fail, read, type Reader, wrongType } from "../../documents/fields.ts";
import { below } from "../../documents/pointer.ts";
import { string } from "../../documents/readers.ts";
import { shown } from "../../documents/shown.ts";

/** A list. Reports a wrong length, and reads the items nevertheless to report all findings. */
export function listOf<T>(
  reader: Reader<T>,
  what: string,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
): Reader<readonly T[]> {
  return (place) => {
    const { node, path, check } = place;
    if (node.kind !== "sequence") {
      return wrongType(place, `a list of ${what}`);
    }
    const { length } = node.items;
    if (length < minimum || length > maximum) {
      return fail(place, "list_length", `expected ${minimum} to ${maximum} ${what}, found ${length}`);
    }
    return node.items.flatMap((item, index) => {
      const value = read({ node: item, path: below(path, index), check }, reader);
      return value === undefined ? [] : [value];
    });
  };
}

/** Labels in file order. The service checks their number and length. */
export const labelMapping: Reader<Readonly<Record<string, string>>> = (place) => {
  const { node, path, check } = place;
  if (node.kind !== "mapping") {
    return wrongType(place, "a mapping of texts");
  }
  const labels = node.entries.flatMap(({ key, value }): (readonly [string, string])[] => {
    const text = read({ node: value, path: below(path, key), check }, string);
    return text === undefined ? [] : [[key, text]];
  });
  return Object.fromEntries(labels);
};

const momentSchema = z.iso.datetime({ offset: true });

/** A date and time with its UTC offset, so that it does not depend on the reader's time zone. */
export const moment: Reader<string> = (place) => {
  const written = string(place);
  if (written === undefined || isMoment(written)) return written;
  return fail(
    place,
    "date_time",
    `${shown(written)} is not a time with a UTC offset, such as 2030-01-31T08:00:00+01:00`,
  );
};

export function isMoment(text: string): boolean {
  return momentSchema.safeParse(text).success;
}

/** A non-empty string. */
export const words: Reader<string> = (place) => {
  const written = string(place);
  if (written !== "") return written;
  return fail(place, "text_format", "expected a non-empty text");
};
