import * as z from "zod";

import { allOperations, beyondSpec } from "../../api/api.ts";
import type { Operation, WithBody } from "../../api/wire/operation.ts";
import { EXAMPLES } from "./examples.ts";
import { OPERATION_DESCRIPTIONS, type OperationWords } from "./operation-descriptions.ts";
import { headerReferences, RATE_LIMIT_HEADERS, type RefusalName, refusalReference, REFUSALS } from "./refusals.ts";
import { type JsonSchema, referenceTo, schemaReference } from "./schemas.ts";

/** A part of the document; its shape is the OpenAPI Specification's (spec.openapis.org/oas/v3.1.1). */
type Part = Readonly<Record<string, unknown>>;

const KIBIBYTE = 1024;

/** By the id of the operation. */
const WORDS: Readonly<Record<string, OperationWords>> = OPERATION_DESCRIPTIONS;
const BODIES: Readonly<Record<string, unknown>> = EXAMPLES;

/** All paths of the interface with their operations. */
export function paths(): Part {
  const all: Record<string, Record<string, Part>> = {};
  for (const [id, operation] of Object.entries(allOperations)) {
    const { path, method } = operation;
    all[path] = { ...all[path], [method.toLowerCase()]: describeOperation(id, operation) };
  }
  return { ...all, ...SERVICE_PATHS };
}

function describeOperation(id: string, operation: Operation): Part {
  const { summary, tag, scopes } = operation;
  const words = WORDS[id];
  if (words === undefined) throw new Error(`The operation ${id} has no description`);
  const parameters = [...pathParameters(operation), ...queryParameters(operation)];
  return {
    operationId: id,
    summary,
    description: words.does,
    tags: [tag],
    ...securityOf(operation),
    ...(Object.hasOwn(beyondSpec, id) ? { "x-beyond-spec": true } : {}),
    "x-scope": scopes,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.request === null ? {} : { requestBody: describeBody(id, operation) }),
    responses: describeAnswers(operation, words),
  };
}

function securityOf({ scopes, isOpen }: Operation): Part {
  if (scopes === "public" || scopes === "signed") return { security: [] };
  return isOpen === true ? { security: [{}, { bearer: [] }] } : {};
}

const PARAMETERS: Readonly<Record<string, string>> = {
  allowed_key_id: "Id of the allowed key.",
  delivery_id: "Id of the delivery.",
  deployment_id: "Id of the deployment.",
  fleet_id: "Id of the fleet.",
  key_id: "Id of the API key.",
  robot: "Id or name of the robot.",
  slug: "Slug of the model.",
  user_code: "Code of the enrolment, as a person types it.",
  webhook_id: "Id of the webhook.",
};

function pathParameters({ path }: Operation): readonly Part[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    description: PARAMETERS[name] ?? "",
    schema: { type: "string", minLength: 1 },
  }));
}

function queryParameters({ query }: Operation): readonly Part[] {
  return Object.entries(query?.shape ?? {}).map(([name, member]) => {
    const { description = "", ...schema } = plainSchema(member);
    return { name, in: "query", required: false, description, schema };
  });
}

function plainSchema(member: z.core.$ZodType): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(member, { io: "input" });
  return schema;
}

function describeBody(id: string, { request, bodyBytes }: WithBody): Part {
  const example = BODIES[id];
  const content = { schema: schemaReference(request), ...(example === undefined ? {} : { example }) };
  const description = `At most ${bodyBytes / KIBIBYTE} KiB.`;
  return { required: true, description, content: { "application/json": content } };
}

function describeAnswers({ path, query, request, response, scopes }: Operation, words: OperationWords): Part {
  const byStatus = new Map(Object.entries(words));
  const hasParameter = path.includes("{");
  const refusals: readonly RefusalName[] = [
    ...when(request !== null, "BadRequest", "PayloadTooLarge"),
    "Unauthorized",
    ...when(typeof scopes !== "string" || words[403] !== undefined, "Forbidden"),
    ...when(hasParameter, "NotFound"),
    ...when(words[409] !== undefined, "Conflict"),
    ...when(request !== null || query !== undefined || hasParameter, "ValidationFailed"),
    "RateLimited",
    "Unavailable",
    "Refused",
  ];
  return {
    "200": {
      description: words[200],
      headers: headerReferences(
        ...RATE_LIMIT_HEADERS,
        ...(query !== undefined && "cursor" in query.shape ? ["Link"] : []),
      ),
      content: { "application/json": { schema: schemaReference(response) } },
    },
    ...Object.fromEntries(
      refusals.map((name) => {
        const { status } = REFUSALS[name];
        return [status, refusalReference(name, byStatus.get(status))];
      }),
    ),
  };
}

function when(condition: boolean, ...names: readonly RefusalName[]): readonly RefusalName[] {
  return condition ? names : [];
}

/** The health checks outside /v1. */
const SERVICE_PATHS: Part = {
  "/healthz": ownPath(
    {
      operationId: "getHealth",
      summary: "Tell that the process answers",
      description: "Does not check the store or anything else.",
    },
    { 200: "The process answers." },
  ),
  "/readyz": ownPath(
    {
      operationId: "getReadiness",
      summary: "Tell whether requests can be served",
      description: "Queries the store, at most once a second. For load balancers.",
    },
    {
      200: "The service can serve requests.",
      503: "The store cannot be reached or is read-only, or the service is stopping.",
    },
  ),
};

function ownPath(
  words: { readonly operationId: string; readonly summary: string; readonly description: string },
  answers: { readonly 200: string; readonly 503?: string },
): Part {
  const schema = { $ref: referenceTo("Health") };
  return {
    get: {
      ...words,
      tags: ["service"],
      security: [],
      "x-beyond-spec": true,
      responses: {
        "200": { description: answers[200], headers: headerReferences(), content: { "application/json": { schema } } },
        ...(answers[503] === undefined ? {} : { "503": refusalReference("Unavailable", answers[503]) }),
        default: refusalReference("Refused"),
      },
    },
  };
}
