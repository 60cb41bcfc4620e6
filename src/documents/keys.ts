/** Keys of a mapping as a table: a row says what reads the key, its default, and what an editor tells of it. */
import { described, type Fields, mapping, type Place, type Reader, type Schema } from "./fields.ts";

export interface Key<T> {
  readonly schema: Schema;
  readonly isRequired: boolean;
  /** The value where the key is missing or invalid. */
  readonly standard: T;
  read(fields: Fields, name: string): T;
}

export type Keys = Readonly<Record<string, Key<unknown>>>;

/** The values of the keys of a table. */
export type ValuesOf<Table extends Keys> = { readonly [Name in keyof Table]: ReturnType<Table[Name]["read"]> };

export function required<T>(reader: Reader<T>, description: string): Key<T | undefined> {
  const schema = { ...reader.schema, description };
  return { schema, isRequired: true, standard: undefined, read: (fields, name) => fields.required(name, reader) };
}

export function optional<T>(reader: Reader<T>, description: string): Key<T | undefined> {
  const schema = { ...reader.schema, description };
  return { schema, isRequired: false, standard: undefined, read: (fields, name) => fields.optional(name, reader) };
}

/** @param standard the value where the key is missing or invalid; editors tell of it unless it is null. */
export function withDefault<T, const D>(reader: Reader<T>, standard: D, description?: string): Key<T | D> {
  const schema = { ...reader.schema, ...(standard === null ? {} : { default: standard }), description };
  return { schema, isRequired: false, standard, read: (fields, name) => fields.optional(name, reader) ?? standard };
}

export function readKeys<Table extends Keys>(fields: Fields, table: Table): ValuesOf<Table>;
export function readKeys(fields: Fields, table: Keys): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(table).map(([name, key]) => [name, key.read(fields, name)]));
}

/** The values where no key is written. */
export function defaultsOf<Table extends Keys>(table: Table): ValuesOf<Table>;
export function defaultsOf(table: Keys): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(table).map(([name, { standard }]) => [name, standard]));
}

/** JSON Schema (2020-12) of a mapping with these keys. */
export function mappingSchema(table: Keys): Schema {
  const rows = Object.entries(table);
  return {
    type: "object",
    required: rows.filter(([, { isRequired }]) => isRequired).map(([name]) => name),
    additionalProperties: false,
    patternProperties: { "^x-": { description: "Ignored: a place for your own notes." } },
    properties: Object.fromEntries(rows.map(([name, { schema }]) => [name, schema])),
  };
}

/** Reads a mapping with the keys of the table. @param complete makes the result of their values. */
export function keysReader<Table extends Keys, T>(
  table: Table,
  complete: (values: ValuesOf<Table>, place: Place) => T | undefined,
): Reader<T> {
  return described(
    mappingSchema(table),
    mapping((fields, place) => complete(readKeys(fields, table), place)),
  );
}
