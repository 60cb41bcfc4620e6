import {
  OPERATING_WINDOWS_COUNT,
  PEAK_ACTIVE_ROBOTS,
  READINESS_MODES,
  SELECTION_ROBOTS_COUNT,
} from "../../api/fleets.ts";
import type { Reader } from "../../manifest/fields.ts";
import { fieldsOf } from "../../manifest/fields.ts";
import { integer, oneOf } from "../../manifest/readers.ts";
import { labelMapping, listOf, moment, words } from "../files/written-readers.ts";

/** A selection has exactly one of both members; the service checks that too. */
export interface WrittenSelection {
  readonly robots?: readonly string[];
  readonly selector?: WrittenSelector;
}

export interface WrittenSelector {
  readonly site?: string;
  readonly region?: string;
  readonly robot_type_id?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A new fleet from flags and file, in the request's form. */
export interface WrittenFleet {
  readonly name?: string;
  readonly subject?: string;
  readonly selection?: WrittenSelection;
  readonly peak_active_robots?: number;
  readonly readiness_mode?: (typeof READINESS_MODES)[number];
  readonly operating_windows?: readonly { readonly starts_at: string; readonly ends_at: string }[];
}

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
 * @param told members from flags, which the file may leave out.
 */
export function writtenFleet(told: WrittenFleet): Reader<WrittenFleet> {
  return (place) => {
    const fields = fieldsOf(place);
    if (fields === undefined) return undefined;
    const take = <T>(key: keyof WrittenFleet, reader: Reader<T>) =>
      Object.hasOwn(told, key) ? fields.optional(key, reader) : fields.required(key, reader);
    const name = take("name", words);
    const subject = take("subject", words);
    const selected = take("selection", selection);
    const peakActiveRobots = fields.optional("peak_active_robots", integer(PEAK));
    const readinessMode = fields.optional("readiness_mode", oneOf(...READINESS_MODES));
    const operatingWindows = fields.optional("operating_windows", listOf(operatingWindow, "windows", WINDOWS));
    fields.close();
    return {
      ...(name === undefined ? {} : { name }),
      ...(subject === undefined ? {} : { subject }),
      ...(selected === undefined ? {} : { selection: selected }),
      ...(peakActiveRobots === undefined ? {} : { peak_active_robots: peakActiveRobots }),
      ...(readinessMode === undefined ? {} : { readiness_mode: readinessMode }),
      ...(operatingWindows === undefined ? {} : { operating_windows: operatingWindows }),
    };
  };
}

const PEAK = { ...PEAK_ACTIVE_ROBOTS, maximum: SELECTION_ROBOTS_COUNT.maximum };
const WINDOWS = { minimum: 0, maximum: OPERATING_WINDOWS_COUNT.maximum };

const selection: Reader<WrittenSelection> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const robots = fields.optional("robots", listOf(words, "robots", SELECTION_ROBOTS_COUNT));
  const selected = fields.optional("selector", selector);
  fields.optional("membership", oneOf("snapshot"));
  fields.close();
  const written = place.node.kind === "mapping" ? place.node.entries.map(({ key }) => key) : [];
  const ways = ["robots", "selector"].filter((way) => written.includes(way));
  if (ways.length !== 1) {
    const message = "exactly one of robots and selector is required";
    place.check.findings.error("selection", place.path, place.node.offset, message);
  }
  return {
    ...(robots === undefined ? {} : { robots }),
    ...(selected === undefined ? {} : { selector: selected }),
  };
};

const selector: Reader<WrittenSelector> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const site = fields.optional("site", words);
  const region = fields.optional("region", words);
  const robotTypeId = fields.optional("robot_type_id", words);
  const labels = fields.optional("labels", labelMapping);
  fields.close();
  return {
    ...(site === undefined ? {} : { site }),
    ...(region === undefined ? {} : { region }),
    ...(robotTypeId === undefined ? {} : { robot_type_id: robotTypeId }),
    ...(labels === undefined ? {} : { labels }),
  };
};

const operatingWindow: Reader<{ readonly starts_at: string; readonly ends_at: string }> = (place) => {
  const fields = fieldsOf(place);
  if (fields === undefined) return undefined;
  const starts_at = fields.required("starts_at", moment);
  const ends_at = fields.required("ends_at", moment);
  fields.close();
  return starts_at === undefined || ends_at === undefined ? undefined : { starts_at, ends_at };
};
