/** The keys of a document, from its JSON Schema. */
import { type Table, table } from "./section.ts";

/** The part of JSON Schema that our schemas use. */
export interface DocumentSchema {
  readonly description?: string;
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly items?: DocumentSchema;
  readonly anyOf?: readonly DocumentSchema[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

/** Keys of mappings have a dot before them, those of the items of a list `[].`: `groups[].name`. */
export function keyTable(schema: DocumentSchema): Table {
  return table(["key", "meaning", "default"], rowsOf(schema, ""));
}

function rowsOf({ properties = {}, required = [] }: DocumentSchema, before: string): string[][] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const path = before + key;
    const own = [`\`${path}\``, describeValue(schema), defaultOf(schema, required.includes(key))];
    const { inner, isList } = innerObject(schema);
    return [own].concat(rowsOf(inner, `${path}${isList ? "[]" : ""}.`));
  });
}

/** The schema of the mapping, or of the items of the list, that a key contains. */
function innerObject(schema: DocumentSchema): { readonly inner: DocumentSchema; readonly isList: boolean } {
  const options = (own: DocumentSchema | undefined) => [own, ...(own?.anyOf ?? [])];
  const mapping = options(schema).find((each) => each?.properties !== undefined);
  if (mapping !== undefined) return { inner: mapping, isList: false };
  const item = options(schema.items).find((each) => each?.properties !== undefined);
  return { inner: item ?? {}, isList: true };
}

function describeValue({ description = "", ...schema }: DocumentSchema): string {
  const values = schema.enum?.map((value) => `\`${String(value)}\``) ?? [];
  const choice = values.length > 1 ? [`One of ${values.join(", ")}.`] : [];
  const sentences = [description, ...choice, ...rangeOf(schema)];
  return sentences.filter((each) => each !== "").join(" ");
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: DocumentSchema): readonly string[] {
  if (minimum !== undefined) return [maximum === undefined ? `At least ${minimum}.` : `${minimum} to ${maximum}.`];
  if (exclusiveMinimum === undefined) return [];
  return [
    maximum === undefined ? `More than ${exclusiveMinimum}.` : `More than ${exclusiveMinimum}, up to ${maximum}.`,
  ];
}

function defaultOf({ default: preset, properties }: DocumentSchema, isRequired: boolean): string {
  if (isRequired) return "required";
  if (preset === undefined || properties !== undefined) return "";
  return `\`${typeof preset === "object" ? JSON.stringify(preset) : String(preset)}\``;
}
