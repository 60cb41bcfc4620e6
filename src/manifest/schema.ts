import { type JsonSchema, jsonSchema } from "../documents/schemas.ts";
import type { CatalogRow } from "./catalog/catalog.ts";
import { CUSTOM_MANIFEST } from "./custom/shape.ts";

/** JSON Schema (2020-12) of a manifest, for editors. Rules that a schema cannot express are left to `check`. */
export function manifestSchema(catalog: readonly CatalogRow[]): JsonSchema {
  const examples = catalog.filter(({ hosted }) => hosted).map(({ robot_type_id: robotTypeId }) => robotTypeId);
  const { robot_type_id: typeId } = CUSTOM_MANIFEST.shape;
  return jsonSchema(
    CUSTOM_MANIFEST.extend({ robot_type_id: typeId.meta({ ...typeId.meta(), examples }) }),
    "Robot manifest",
    "What type of robot this is, and which files decide how it behaves.",
  );
}
