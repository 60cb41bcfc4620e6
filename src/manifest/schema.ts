import { TYPE_ID } from "../api/robot-terms.ts";
import type { CatalogRow } from "./catalog/catalog.ts";
import { bodySchema } from "./custom/body-schema.ts";
import { DISPLAY_NAME_LIMIT, MANIFEST_SCHEMA, MANIFEST_STATUSES, TYPE_ID_LIMIT } from "./manifest.ts";

/** JSON Schema (2020-12) of a manifest, for editors. Rules that a schema cannot express are left to `check`. */
export function manifestSchema(catalog: readonly CatalogRow[]): Readonly<Record<string, unknown>> {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Robot manifest",
    description: "What type of robot this is, and which files decide how it behaves.",
    type: "object",
    required: ["robot_type_id"],
    additionalProperties: false,
    patternProperties: { "^x-": { description: "Ignored: a place for your own notes." } },
    properties: {
      schema: { const: MANIFEST_SCHEMA, description: `Version of this format. Default: ${MANIFEST_SCHEMA}.` },
      robot_type_id: {
        type: "string",
        maxLength: TYPE_ID_LIMIT,
        pattern: TYPE_ID.source,
        description:
          "Id of the robot's type: one that the service knows, such as yam.bimanual-joint-position.v1, or a custom type's own.",
        examples: catalog.filter(({ hosted }) => hosted).map(({ robot_type_id: robotTypeId }) => robotTypeId),
      },
      display_name: {
        type: "string",
        minLength: 1,
        maxLength: DISPLAY_NAME_LIMIT,
        description: "For people. Part of the contract of a custom type.",
      },
      status: {
        enum: [...MANIFEST_STATUSES],
        default: "ready",
        description: "draft: checked but never registered. ready: registered.",
      },
      ...bodySchema(catalog),
      configuration_files: {
        type: "array",
        maxItems: 64,
        default: [],
        description:
          "Files that decide how the robot behaves, such as calibration. Their order counts; a change registers the robot again.",
        items: { anyOf: [PATH, LABELLED_PATH] },
      },
    },
  };
}

const PATH = {
  type: "string",
  maxLength: 4096,
  pattern: "^(?:/|~/)[^$*?]*[^$*?/]$",
  description: "Absolute path, or ~/ for the home that the agent's configuration names.",
};

const LABELLED_PATH = {
  type: "object",
  required: ["path"],
  additionalProperties: false,
  patternProperties: { "^x-": {} },
  properties: {
    label: { type: "string", minLength: 1, maxLength: 128, description: "For people only; no two alike." },
    path: PATH,
  },
};
