import type { Place, Reader } from "./fields.ts";
import { Fields, read, wrongType } from "./fields.ts";
import type { Path } from "./path.ts";
import { below, pointer } from "./path.ts";
import { collapse, configurationPathProblem, unsuitability } from "./paths.ts";
import { string, text } from "./readers.ts";
import { shown } from "./shown.ts";

/** A file that decides how the robot behaves. */
export interface ConfigurationFileEntry {
  /** For people only; the path by default. */
  readonly label: string;
  /** As written: absolute, or starting with `~/`. */
  readonly path: string;
  /** JSON Pointer to the path in the manifest. */
  readonly loc: string;
}

const FILE_LIMIT = 64;
const LABEL_LIMIT = 128;

/** The ordered list of SPEC section 2.6; undefined when an item has an error. */
export const configurationFiles: Reader<readonly ConfigurationFileEntry[]> = (place) => {
  const { node, path, check } = place;
  if (node.kind !== "sequence") {
    wrongType(place, "a list");
    return undefined;
  }
  if (node.items.length === 0) warnOfNoFiles(place);
  if (node.items.length > FILE_LIMIT) {
    check.findings.error(
      "list_length",
      path,
      node.offset,
      `expected 0 to ${FILE_LIMIT} items, found ${node.items.length}`,
    );
  }
  const seen: Seen = { paths: new Map(), labels: new Map() };
  const files: ConfigurationFileEntry[] = [];
  for (const [index, item] of node.items.entries()) {
    const file = read({ node: item, path: below(path, index), check }, (item) => readItem(item, seen));
    if (file !== undefined) files.push(file);
  }
  return files.length === node.items.length ? files : undefined;
};

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
  if (problem !== undefined) {
    check.findings.error("config_path", path, node.offset, `${shown(written)}: ${problem}`);
    return undefined;
  }
  const reason = unsuitability(written);
  if (reason !== undefined) {
    const message = `${shown(written)} ${reason}; it should not be part of the digest`;
    check.findings.warning("config_unsuitable", path, node.offset, message);
  }
  return isRepeated(place, path, "config_duplicate", written, collapse(written), seen.paths) ? undefined : written;
}

function fileLabel(place: Place, seen: Seen): string | undefined {
  const label = text(LABEL_LIMIT)(place);
  if (label === undefined) return undefined;
  return isRepeated(place, place.path, "duplicate_name", label, label, seen.labels) ? undefined : label;
}

function isRepeated(
  { node, check }: Place,
  path: Path,
  id: "config_duplicate" | "duplicate_name",
  written: string,
  compared: string,
  seen: Map<string, number>,
): boolean {
  const first = seen.get(compared);
  if (first === undefined) {
    seen.set(compared, node.offset);
    return false;
  }
  const done = id === "config_duplicate" ? "listed" : "used";
  check.findings.error(
    id,
    path,
    node.offset,
    `${shown(written)} is already ${done} at line ${check.findings.line(first)}`,
  );
  return true;
}
