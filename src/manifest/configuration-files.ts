import { described, fail, Fields, type Place, type Reader, wrongType } from "../documents/fields.ts";
import { below, pointer } from "../documents/pointer.ts";
import { collapse, configurationPathProblem, unsuitability } from "../documents/paths.ts";
import { isRepeated, list, string, text } from "../documents/readers.ts";
import { shownPath } from "../documents/shown.ts";

/** A file that decides how the robot behaves. */
export interface ConfigurationFileEntry {
  /** For people only; the path by default. */
  readonly label: string;
  /** As written: absolute, or starting with `~/`. */
  readonly path: string;
  /** JSON Pointer to the path in the manifest. */
  readonly loc: string;
}

export const FILE_COUNT = { minimum: 0, maximum: 64 };
const LABEL_LIMIT = 128;

const PATH = {
  type: "string",
  maxLength: 4096,
  pattern: "^(?:/|~/)[^$*?]*[^$*?/]$",
  description: "Absolute path; ~/ stands for robot.home of the agent's configuration.",
};
const LABEL = {
  type: "string",
  minLength: 1,
  maxLength: LABEL_LIMIT,
  description: "For people only; different for each file.",
};
const SCHEMA = {
  type: "array",
  maxItems: FILE_COUNT.maximum,
  items: {
    anyOf: [
      PATH,
      {
        type: "object",
        required: ["path"],
        additionalProperties: false,
        patternProperties: { "^x-": {} },
        properties: { label: LABEL, path: PATH },
      },
    ],
  },
};

/** The ordered list of SPEC section 2.6; undefined when an item has an error. */
export const configurationFiles: Reader<readonly ConfigurationFileEntry[]> = described(SCHEMA, (place) => {
  const seen: Seen = { paths: new Map(), labels: new Map() };
  const files = list(FILE_COUNT, (item) => readItem(item, seen))(place);
  const count = place.node.kind === "sequence" ? place.node.items.length : undefined;
  if (count === 0) warnOfNoFiles(place);
  return files?.length === count ? files : undefined;
});

export function warnOfNoFiles({ node, path, check }: Place): void {
  check.findings.warning("no_config_files", path, node.offset, "no configuration files: the digest covers nothing");
}

/** Offsets of the first occurrence of values that must not repeat. */
interface Seen {
  readonly paths: Map<string, number>;
  readonly labels: Map<string, number>;
}

function readItem(place: Place, seen: Seen): ConfigurationFileEntry | undefined {
  if (place.node.kind !== "mapping") {
    const path = place.node.kind === "scalar" ? filePath(place, seen) : undefined;
    if (place.node.kind === "sequence") wrongType(place, "a path or {label, path}");
    return path === undefined ? undefined : { label: path, path, loc: pointer(place.path) };
  }
  const fields = new Fields(place, place.node);
  const label = fields.optional("label", (label) => fileLabel(label, seen));
  const path = fields.required("path", (path) => filePath(path, seen));
  fields.close();
  return path === undefined ? undefined : { label: label ?? path, path, loc: pointer(below(place.path, "path")) };
}

function filePath(place: Place, seen: Seen): string | undefined {
  const written = string(place);
  if (written === undefined) return undefined;
  const { node, path, check } = place;
  const problem = configurationPathProblem(written);
  if (problem !== undefined) return fail(place, "config_path", `${shownPath(written)}: ${problem}`);
  const reason = unsuitability(written);
  if (reason !== undefined) {
    const message = `${shownPath(written)} ${reason}; it should not be part of the digest`;
    check.findings.warning("config_unsuitable", path, node.offset, message);
  }
  const rule = { id: "config_duplicate", done: "listed", compared: collapse(written) };
  return isRepeated(place, written, seen.paths, rule) ? undefined : written;
}

function fileLabel(place: Place, seen: Seen): string | undefined {
  const label = text(LABEL_LIMIT)(place);
  return label === undefined || isRepeated(place, label, seen.labels) ? undefined : label;
}
