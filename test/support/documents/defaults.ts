import type { DocumentSchema } from "../../../scripts/manual/keys.ts";

/** The document that writes out each default of a schema. */
export function defaultsOf({ properties = {} }: DocumentSchema): Readonly<Record<string, unknown>> {
  const written = Object.entries(properties).flatMap(([key, schema]) => {
    const value = schema.properties === undefined ? schema.default : defaultsOf(schema);
    const isEmpty = value === undefined || (schema.properties !== undefined && Object.keys(value ?? {}).length === 0);
    return isEmpty ? [] : [[key, value]];
  });
  return Object.fromEntries(written);
}
