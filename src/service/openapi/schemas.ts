import * as z from "zod";

import { beyondSpec, operations } from "../../api/api.ts";
import { errorBodySchema, validationErrorBodySchema } from "../../api/wire/errors.ts";

/** A schema of JSON Schema 2020-12, which is what OpenAPI 3.1 speaks. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Text that PostgreSQL cannot hold is refused on every store. */
const WITHOUT_NUL = "^[^\\u0000]*$";
const MOMENT = /(?:_at|^period_(?:start|end))$/;

/** The schemas of all bodies, by name, made from those that check requests and build answers. */
export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  const rows = [...Object.values(operations), ...Object.values(beyondSpec)];
  const requests = describe(
    rows.flatMap(({ request }) => request ?? []),
    "input",
    (schema, source) => {
      // The format says it better than the pattern of the library.
      if (schema["format"] === "date-time") delete schema["pattern"];
      else if (isContractText(source)) schema["pattern"] ??= WITHOUT_NUL;
    },
  );
  const bodies = [...rows.map(({ response }) => response), errorBodySchema, validationErrorBodySchema];
  const answers = describe(bodies, "output", sayMoments);
  const all = { ...requests, ...answers, RobotView: withRobotMembers(answers["RobotView"] ?? {}) };
  return Object.fromEntries(Object.entries(all).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** Where the schema of a body stands; of a list of such bodies, the list. */
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

/** All schemas that have an id, among `bodies` and in them, by their ids. */
function describe(
  bodies: readonly z.ZodType[],
  io: "input" | "output",
  amend: (schema: Mutable, source: z.core.$ZodType) => void,
): Readonly<Record<string, JsonSchema>> {
  const { $defs = {} } = z.toJSONSchema(z.union(bodies), {
    io,
    // Only members that a transformation fills in; withRobotMembers says what they are.
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => amend(jsonSchema, zodSchema),
  });
  const text = JSON.stringify($defs);
  return JSON.parse(text, (member, value: unknown) =>
    member === "$ref" && typeof value === "string" ? value.replace("#/$defs/", referenceTo("")) : value,
  );
}

/** Made by `text` of the contract, which attaches metadata to all it makes. */
function isContractText(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodString && z.globalRegistry.has(schema);
}

function sayMoments({ properties }: Mutable): void {
  if (!isRecord(properties)) return;
  for (const [member, schema] of Object.entries(properties)) {
    if (MOMENT.test(member) && isRecord(schema)) schema["format"] = "date-time";
  }
}

/** Our service sends both always; what it makes of an absent one is a transformation, which JSON Schema cannot say. */
function withRobotMembers(schema: JsonSchema): JsonSchema {
  const { properties } = schema;
  const site = { type: ["string", "null"] };
  const labels = { type: "object", additionalProperties: { type: "string" } };
  return { ...schema, properties: { ...(isRecord(properties) ? properties : {}), site, labels } };
}

function isRecord(value: unknown): value is Mutable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
