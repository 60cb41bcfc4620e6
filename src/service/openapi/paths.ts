import * as z from "zod";

import { allOperations, beyondSpec, type OperationName } from "../../api/api.ts";
import type { Operation, WithBody } from "../../api/wire/operation.ts";
import { type JsonSchema, referenceTo, schemaReference } from "./schemas.ts";

/** A part of the document; its shape is the OpenAPI Specification's (spec.openapis.org/oas/v3.1.1). */
type Part = Readonly<Record<string, unknown>>;

const KIBIBYTE = 1024;

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
  const { summary, does, tag, scopes } = operation;
  const parameters = [...pathParameters(operation), ...queryParameters(operation)];
  return {
    operationId: id,
    summary,
    description: does,
    tags: [tag],
    ...securityOf(operation),
    ...(Object.hasOwn(beyondSpec, id) ? { "x-beyond-spec": true } : {}),
    "x-scope": scopes,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.request === null ? {} : { requestBody: describeBody(id, operation) }),
    responses: describeAnswers(operation),
  };
}

function securityOf({ scopes, isOpen }: Operation): Part {
  if (scopes === "public" || scopes === "signed") return { security: [] };
  return isOpen === true ? { security: [{}, { bearer: [] }] } : {};
}

const PARAMETERS: Readonly<Record<string, string>> = {
  deployment_id: "Id of the deployment.",
  fleet_id: "Id of the fleet.",
  key_id: "Id of the API key.",
  robot: "Id or name of the robot.",
  slug: "Slug of the model.",
  sha256: "SHA-256 of the content, in hex.",
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
  const example = new Map<string, unknown>(Object.entries(EXAMPLES)).get(id);
  const content = { schema: schemaReference(request), ...(example === undefined ? {} : { example }) };
  const description = `At most ${bodyBytes / KIBIBYTE} KiB.`;
  return { required: true, description, content: { "application/json": content } };
}

function describeAnswers({ path, query, request, response, scopes, answers }: Operation): Part {
  const byStatus = new Map(Object.entries(answers));
  const hasParameter = path.includes("{");
  const refusals: readonly RefusalName[] = [
    ...when(request !== null, "BadRequest", "PayloadTooLarge"),
    "Unauthorized",
    ...when(typeof scopes !== "string" || answers[403] !== undefined, "Forbidden"),
    ...when(hasParameter, "NotFound"),
    ...when(answers[409] !== undefined, "Conflict"),
    ...when(request !== null || query !== undefined || hasParameter, "ValidationFailed"),
    "RateLimited",
    "Unavailable",
    "Refused",
  ];
  return {
    "200": {
      description: answers[200],
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
      503: "The store cannot be reached, is read-only or was changed by a newer release, or the service is stopping.",
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

interface Refusal {
  /** The status, or `default` for all others. */
  readonly status: string;
  readonly description: string;
  readonly body: "Error" | "HTTPValidationError";
  /** Headers in addition to those of every answer. */
  readonly headers: readonly string[];
}

const RATE_LIMIT_HEADERS = ["RateLimit-Policy", "RateLimit"] as const;

/** Error answers that the operations share. */
const REFUSALS = {
  BadRequest: refusal("400", "The body cannot be parsed: its encoding is invalid, or it is nested too deeply."),
  Unauthorized: refusal(
    "401",
    "The request has no credential, or one that is unknown, revoked or expired.",
    "WWW-Authenticate",
  ),
  Forbidden: refusal("403", "The credential is valid but lacks the scope that the operation needs."),
  NotFound: refusal("404", "The organization has nothing with this id or name."),
  Conflict: refusal("409", "The request conflicts with something that exists."),
  PayloadTooLarge: refusal("413", "The body is larger or has more JSON values than the operation accepts."),
  ValidationFailed: {
    ...refusal("422", "An input is invalid, or the body is not sent as application/json."),
    body: "HTTPValidationError",
  },
  RateLimited: refusal(
    "429",
    "This credential, its organization or this address sent too many requests, or has too many request bytes in flight.",
    "Retry-After",
  ),
  Unavailable: refusal(
    "503",
    "The service cannot serve the request now, for example because the store cannot be reached. The same request may succeed later.",
    "Retry-After",
  ),
  Refused: refusal("default", "Any other refusal."),
} as const satisfies Record<string, Refusal>;

type RefusalName = keyof typeof REFUSALS;

/** `components.responses` of the document. */
export function refusalComponents(): Part {
  return Object.fromEntries(
    Object.entries(REFUSALS).map(([name, { description, body, headers }]) => [
      name,
      {
        description,
        headers: headerReferences(...RATE_LIMIT_HEADERS, ...headers),
        content: { "application/json": { schema: { $ref: referenceTo(body) } } },
      },
    ]),
  );
}

/** @param description overrides that of the component (OpenAPI 3.1.1, Reference Object). */
function refusalReference(name: RefusalName, description?: string): Part {
  return { $ref: `#/components/responses/${name}`, ...(description === undefined ? {} : { description }) };
}

function headerReferences(...names: readonly string[]): Part {
  return Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function refusal(status: string, description: string, ...headers: readonly string[]): Refusal {
  return { status, description, body: "Error", headers };
}

/**
 * Example bodies. Sent in this order, they succeed on a new service with the example catalog, as
 * test/integration/service/openapi.test.ts checks.
 */
export const EXAMPLES: Readonly<Partial<Record<OperationName, unknown>>> = {
  setupRobot: {
    name: "packing-cell-4",
    robot_type_id: "yam.bimanual-joint-position.v1",
    region: "us-west-2",
    configuration_digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    site: "plant-1",
    labels: { line: "4", cell: "packing" },
  },
  previewFleet: { selector: { site: "plant-1", labels: { cell: "packing" } }, subject: "pi0.5" },
  createFleet: {
    name: "packing",
    subject: "pi0.5",
    selection: { selector: { site: "plant-1", labels: { cell: "packing" } } },
    peak_active_robots: 1,
    readiness_mode: "always_ready",
  },
  updateFleetModel: { subject: "pi0.5" },
  createDeployment: { model: "pi0.5", robot: "packing-cell-4" },
  createApiKey: { label: "packing-cell-4", scopes: ["robots:setup"] },
  createWebhook: { url: "https://hooks.example.com/robots", events: ["robot.registered", "robot.frozen"] },
};
