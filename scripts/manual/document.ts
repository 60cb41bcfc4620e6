import { bold, prose, term } from "./roff.ts";

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

/** The keys of a document with their meaning, from its JSON Schema. */
export function describeKeys({ properties = {}, required = [] }: DocumentSchema): readonly string[] {
  return Object.entries(properties).flatMap(([key, value]) => describeKey(key, value, required.includes(key)));
}

function describeKey(key: string, schema: DocumentSchema, isRequired: boolean): readonly string[] {
  const inner = innerObject(schema);
  const own = term(bold(key), describeValue(schema, isRequired));
  return inner === null ? own : [...own, ".RS", ...describeKeys(inner), ".RE"];
}

/** The schema of the object, or of the items of the list, that a key contains. */
function innerObject(schema: DocumentSchema): DocumentSchema | null {
  const candidates = [schema, schema.items, ...(schema.items?.anyOf ?? []), ...(schema.anyOf ?? [])];
  return candidates.find((each) => each?.properties !== undefined) ?? null;
}

function describeValue(schema: DocumentSchema, isRequired: boolean): string {
  const { description = "", default: preset, enum: values } = schema;
  const sentences = [
    ...(description === "" ? [] : [prose(description)]),
    ...(values === undefined ? [] : [`One of ${values.map((value) => bold(String(value))).join(", ")}.`]),
    ...describeRange(schema),
    ...(preset === undefined || typeof preset === "object" ? [] : [`Default: ${bold(String(preset))}.`]),
    ...(isRequired ? ["Required."] : []),
  ];
  return sentences.length === 0 ? "\\&" : sentences.join("\n");
}

function describeRange({ minimum, exclusiveMinimum, maximum }: DocumentSchema): readonly string[] {
  if (minimum !== undefined) return [maximum === undefined ? `At least ${minimum}.` : `${minimum} to ${maximum}.`];
  if (exclusiveMinimum === undefined) return [];
  return [
    maximum === undefined ? `More than ${exclusiveMinimum}.` : `More than ${exclusiveMinimum}, up to ${maximum}.`,
  ];
}
