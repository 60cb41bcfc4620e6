import * as z from "zod";

import { allOperations } from "../../api/api.ts";
import { errorBodySchema, validationErrorBodySchema } from "../../api/wire/errors.ts";
import { isObject } from "../../platform/is-object.ts";

/** A schema of JSON Schema 2020-12, the dialect of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** PostgreSQL cannot store NUL, so that every store refuses it. */
const WITHOUT_NUL = "^[^\\u0000]*$";
/** Members that are times. */
const TIME_MEMBER = /(?:(?:^|_)at|^period_(?:start|end))$/;

/** The schemas of all bodies by name, generated from the zod schemas that validate requests and build answers. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const rows = Object.values(allOperations);
  const requests = describe(
    rows.flatMap(({ request }) => request ?? []),
    "input",
    (schema, source) => {
      // The format is enough; zod's pattern for it is long and unreadable.
      if (schema["format"] === "date-time") delete schema["pattern"];
      else if (isContractText(source)) schema["pattern"] ??= WITHOUT_NUL;
    },
  );
  const bodies = [...rows.map(({ response }) => response), errorBodySchema, validationErrorBodySchema];
  const answers = describe(bodies, "output", describeAnswer);
  const all = { ...requests, ...answers, RobotView: withLabels(answers["RobotView"] ?? {}) };
  return Object.fromEntries(Object.entries(all).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** A reference to the schema of a body, or an array of such references for a list. */
export function schemaReference(schema: z.ZodType): JsonSchema {
  const id = schema.meta()?.id;
  if (id !== undefined) return { $ref: referenceTo(id) };
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodType) {
    return { type: "array", items: schemaReference(schema.element) };
  }
  throw new Error("A body of the contract has no id in its metadata");
}

export function referenceTo(name: string): string {
  return `#/components/schemas/${name}`;
}

type Mutable = Record<string, unknown>;

/** All schemas with an id, `bodies` and those nested in them, by id. */
function describe(
  bodies: readonly z.ZodType[],
  io: "input" | "output",
  amend: (schema: Mutable, source: z.core.$ZodType) => void,
): Readonly<Record<string, JsonSchema>> {
  const { $defs = {} } = z.toJSONSchema(z.union(bodies), {
    io,
    // Only members with a transformation are unrepresentable; `withLabels` adds them.
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => amend(jsonSchema, zodSchema),
  });
  const text = JSON.stringify($defs);
  return JSON.parse(text, (member, value: unknown) =>
    member === "$ref" && typeof value === "string" ? value.replace("#/$defs/", referenceTo("")) : value,
  );
}

/** Whether `text` (api/wire/text.ts) made the schema: it registers metadata for each. */
function isContractText(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodString && z.globalRegistry.has(schema);
}

function describeAnswer(schema: Mutable): void {
  // What clients assume of other services. Ours sends every member.
  delete schema["default"];
  addTimeFormats(schema);
}

function addTimeFormats({ properties }: Mutable): void {
  if (!isObject(properties)) return;
  for (const [member, schema] of Object.entries(properties)) {
    if (TIME_MEMBER.test(member) && isObject(schema)) schema["format"] = "date-time";
  }
}

/** The service always sends labels. Their zod schema ends in a transformation, which JSON Schema cannot express. */
function withLabels(schema: JsonSchema): JsonSchema {
  const { properties } = schema;
  const labels = { type: "object", additionalProperties: { type: "string" } };
  return { ...schema, properties: { ...(isObject(properties) ? properties : {}), labels } };
}
