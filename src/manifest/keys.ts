/** The keys of a manifest that every robot type has; those of a custom type are in custom/keys.ts. */
import * as z from "zod";

import { TYPE_ID } from "../api/robot-terms.ts";
import { formed, orNull, text } from "../documents/schemas.ts";
import { shown } from "../documents/texts.ts";
import { configurationFiles } from "./configuration-files.ts";

const MANIFEST_SCHEMA = "robot-manifest/v1";
const TYPE_ID_LIMIT = 256;
const DISPLAY_NAME_LIMIT = 128;

const schema = formed(
  "schema_version",
  (written) =>
    written === MANIFEST_SCHEMA ? undefined : `unsupported schema ${shown(written)}; expected ${MANIFEST_SCHEMA}`,
  { const: MANIFEST_SCHEMA },
);

const typeId = formed(
  "type_id_format",
  (written) =>
    written.length <= TYPE_ID_LIMIT && TYPE_ID.test(written)
      ? undefined
      : `${shown(written)} is not a type id such as acme.so101-cell.v1`,
  { maxLength: TYPE_ID_LIMIT, pattern: TYPE_ID.source },
);

/** The keys before those of a custom type. */
export const IDENTITY = {
  schema: schema.optional().describe(`Version of this format. Default: ${MANIFEST_SCHEMA}.`),
  robot_type_id: typeId.describe(
    "Id of the robot's type: one that the service knows, such as yam.bimanual-joint-position.v1, or a custom type's own.",
  ),
  display_name: orNull(text(DISPLAY_NAME_LIMIT)).describe("For people. Part of the contract of a custom type."),
  status: z
    .enum(["draft", "ready"])
    .default("ready")
    .describe("draft: checked but never registered. ready: registered."),
};

/** The key after those of a custom type. */
export const FILES = {
  configuration_files: configurationFiles
    .default([])
    .describe(
      "Files and devices that decide how the robot behaves, such as calibration and cameras. Their order counts; a change registers the robot again.",
    ),
};
