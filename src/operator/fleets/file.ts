import type * as z from "zod";

import type { Immutable } from "../../api/contract.ts";
import {
  type fleetCreateSchema,
  OPERATING_WINDOWS_COUNT,
  PEAK_ACTIVE_ROBOTS,
  READINESS_MODES,
  SELECTION_ROBOTS_COUNT,
} from "../../api/fleets.ts";
import { fail, mapping, type Reader } from "../../documents/fields.ts";
import { integer, oneOf } from "../../documents/readers.ts";
import { defined } from "../../platform/defined.ts";
import { labelMapping, listOf, moment, words } from "../files/written-readers.ts";

/** A new fleet from flags and file: the request, perhaps without some members. */
export type WrittenFleet = Partial<Immutable<z.input<typeof fleetCreateSchema>>>;
export type WrittenSelection = NonNullable<WrittenFleet["selection"]>;
export type WrittenSelector = NonNullable<WrittenSelection["selector"]>;

/** Messages for wrong keys that operators may try. */
export const FLEET_HINTS: ReadonlyMap<string, string> = new Map([
  ["model", "did you mean subject?"],
  ["checkpoint", "did you mean subject?"],
  ["robots", "put it under selection"],
  ["selector", "put it under selection"],
  ["site", "put it under selection, selector"],
  ["region", "put it under selection, selector"],
  ["labels", "put it under selection, selector"],
  ["type", "did you mean robot_type_id?"],
  ["peak", "did you mean peak_active_robots?"],
  ["mode", "did you mean readiness_mode?"],
  ["windows", "did you mean operating_windows?"],
]);

/**
 * Reads a fleet file, whose keys are the members of the request.
 *
 * @param fromFlags members from flags, which the file may leave out.
 */
export function writtenFleet(fromFlags: WrittenFleet): Reader<WrittenFleet> {
  return mapping((fields) => {
    const take = <T>(key: keyof WrittenFleet, reader: Reader<T>) =>
      Object.hasOwn(fromFlags, key) ? fields.optional(key, reader) : fields.required(key, reader);
    return defined({
      name: take("name", words),
      subject: take("subject", words),
      selection: take("selection", selection),
      peak_active_robots: fields.optional("peak_active_robots", integer(PEAK)),
      readiness_mode: fields.optional("readiness_mode", oneOf(...READINESS_MODES)),
      operating_windows: fields.optional("operating_windows", listOf(operatingWindow, "windows", WINDOWS)),
    });
  });
}

const PEAK = { ...PEAK_ACTIVE_ROBOTS, maximum: SELECTION_ROBOTS_COUNT.maximum };
const WINDOWS = { minimum: 0, maximum: OPERATING_WINDOWS_COUNT.maximum };

const selection: Reader<WrittenSelection> = mapping((fields, place) => {
  const selected = defined({
    robots: fields.optional("robots", listOf(words, "robots", SELECTION_ROBOTS_COUNT)),
    selector: fields.optional("selector", selector),
    membership: fields.optional("membership", oneOf("snapshot")),
  });
  const written = place.node.kind === "mapping" ? place.node.entries.map(({ key }) => key) : [];
  const ways = ["robots", "selector"].filter((way) => written.includes(way));
  if (ways.length !== 1) {
    fail(place, "selection", "exactly one of robots and selector is required");
  }
  return selected;
});

const selector: Reader<WrittenSelector> = mapping((fields) =>
  defined({
    site: fields.optional("site", words),
    region: fields.optional("region", words),
    robot_type_id: fields.optional("robot_type_id", words),
    labels: fields.optional("labels", labelMapping),
  }),
);

const operatingWindow: Reader<{ readonly starts_at: string; readonly ends_at: string }> = mapping((fields) => {
  const starts_at = fields.required("starts_at", moment);
  const ends_at = fields.required("ends_at", moment);
  return starts_at === undefined || ends_at === undefined ? undefined : { starts_at, ends_at };
});
