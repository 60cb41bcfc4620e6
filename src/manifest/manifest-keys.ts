/** The keys of a manifest that every robot type has. Those of a custom type are in custom/shape.ts. */
import { TYPE_ID } from "../api/robot-terms.ts";
import { configurationFiles } from "./configuration-files.ts";
import { described, fail, type Reader } from "../documents/fields.ts";
import { optional, required, withDefault } from "../documents/keys.ts";
import { oneOf, string, text } from "../documents/readers.ts";
import { shown } from "../documents/shown.ts";

const MANIFEST_SCHEMA = "robot-manifest/v1";
const MANIFEST_STATUSES = ["draft", "ready"] as const;
const TYPE_ID_LIMIT = 256;
const DISPLAY_NAME_LIMIT = 128;

const schema: Reader<string> = described({ const: MANIFEST_SCHEMA }, (place) => {
  const written = string(place);
  if (written !== undefined && written !== MANIFEST_SCHEMA) {
    fail(place, "schema_version", `unsupported schema ${shown(written)}; expected ${MANIFEST_SCHEMA}`);
  }
  return written;
});

const typeId: Reader<string> = described(
  { type: "string", maxLength: TYPE_ID_LIMIT, pattern: TYPE_ID.source },
  (place) => {
    const written = string(place);
    if (written === undefined || (written.length <= TYPE_ID_LIMIT && TYPE_ID.test(written))) return written;
    return fail(place, "type_id_format", `${shown(written)} is not a type id such as acme.so101-cell.v1`);
  },
);

const readStatus: Reader<(typeof MANIFEST_STATUSES)[number]> = described({ enum: [...MANIFEST_STATUSES] }, (place) => {
  const status = oneOf(...MANIFEST_STATUSES)(place);
  if (status === "draft") {
    place.check.findings.warning(
      "status_draft",
      place.path,
      place.node.offset,
      "draft: the robot will not be registered",
    );
  }
  return status;
});

/** The keys before those of a custom type. */
export const IDENTITY = {
  schema: optional(schema, `Version of this format. Default: ${MANIFEST_SCHEMA}.`),
  robot_type_id: required(
    typeId,
    "Id of the robot's type: one that the service knows, such as yam.bimanual-joint-position.v1, or a custom type's own.",
  ),
  display_name: withDefault(text(DISPLAY_NAME_LIMIT), null, "For people. Part of the contract of a custom type."),
  status: withDefault(readStatus, "ready", "draft: checked but never registered. ready: registered."),
};

/** The key after them. */
export const FILES = {
  configuration_files: withDefault(
    configurationFiles,
    [],
    "Files that decide how the robot behaves, such as calibration. Their order counts; a change registers the robot again.",
  ),
};
