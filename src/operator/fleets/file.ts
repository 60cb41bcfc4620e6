import * as z from "zod";

import type { Immutable } from "../../api/contract.ts";
import {
  type fleetCreateSchema,
  OPERATING_WINDOWS_COUNT,
  PEAK_ACTIVE_ROBOTS,
  READINESS_MODES,
  SELECTION_ROBOTS_COUNT,
} from "../../api/fleets.ts";
import { integer, list, OF_MAPPING, refuse } from "../../documents/schemas.ts";
import { defined } from "../../platform/defined.ts";
import { labelMapping, moment, words } from "../files/written-readers.ts";

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

const PEAK = { ...PEAK_ACTIVE_ROBOTS, maximum: SELECTION_ROBOTS_COUNT.maximum };
const WINDOWS = { minimum: 0, maximum: OPERATING_WINDOWS_COUNT.maximum };

const selector = z
  .object({
    site: words.optional(),
    region: words.optional(),
    robot_type_id: words.optional(),
    labels: labelMapping.optional(),
  })
  .transform((written): WrittenSelector => defined(written));

const selection = z
  .object({
    robots: list(SELECTION_ROBOTS_COUNT, words).optional(),
    selector: selector.optional(),
    membership: z.enum(["snapshot"]).optional(),
  })
  .superRefine(({ robots, selector }, ctx) => {
    if ((robots === undefined) !== (selector === undefined)) return;
    refuse(ctx, { id: "selection", message: "exactly one of robots and selector is required" });
  }, OF_MAPPING)
  .transform((written): WrittenSelection => defined(written));

/**
 * A fleet file, whose keys are the members of the request.
 *
 * @param fromFlags members from flags, which the file may leave out.
 */
export function fleetFile(fromFlags: WrittenFleet) {
  const unlessGiven = <T extends z.ZodType>(key: keyof WrittenFleet, schema: T) =>
    Object.hasOwn(fromFlags, key) ? schema.optional() : schema;
  return z
    .object({
      name: unlessGiven("name", words),
      subject: unlessGiven("subject", words),
      selection: unlessGiven("selection", selection),
      peak_active_robots: integer(PEAK).optional(),
      readiness_mode: z.enum(READINESS_MODES).optional(),
      operating_windows: list(WINDOWS, z.object({ starts_at: moment, ends_at: moment })).optional(),
    })
    .transform((written): WrittenFleet => defined(written));
}
