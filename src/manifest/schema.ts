import type { CatalogRow } from "./catalog/catalog.ts";
import { BODY } from "./custom/shape.ts";
import type { Schema } from "../documents/fields.ts";
import { mappingSchema } from "../documents/keys.ts";
import { FILES, IDENTITY } from "./manifest-keys.ts";

/** JSON Schema (2020-12) of a manifest, for editors. Rules that a schema cannot express are left to `check`. */
export function manifestSchema(catalog: readonly CatalogRow[]): Schema {
  const examples = catalog.filter(({ hosted }) => hosted).map(({ robot_type_id: robotTypeId }) => robotTypeId);
  const typeId = { ...IDENTITY.robot_type_id, schema: { ...IDENTITY.robot_type_id.schema, examples } };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Robot manifest",
    description: "What type of robot this is, and which files decide how it behaves.",
    ...mappingSchema({ ...IDENTITY, robot_type_id: typeId, ...BODY, ...FILES }),
  };
}
