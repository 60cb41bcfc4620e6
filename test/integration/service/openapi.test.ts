import { fileURLToPath } from "node:url";

import * as z from "zod";
import { describe, expect, it } from "vitest";

import { beyondSpec, operations } from "../../../src/api/api.ts";
import type { Operation } from "../../../src/api/wire/operation.ts";
import { PREPARATION_TIMEOUT_MS } from "../../../src/service/deployments/transition.ts";
import { FLEETS_MAXIMUM } from "../../../src/service/fleets/operations.ts";
import { API_KEYS_MAXIMUM } from "../../../src/service/keys/keys.ts";
import { LOGIN_LIFETIME_MS, POLL_INTERVAL_S } from "../../../src/service/logins/logins.ts";
import { EXAMPLES } from "../../../src/service/openapi/paths.ts";
import type { RunningService } from "../../support/service/service.ts";
import { testService } from "../../support/service/test-service.ts";

const CATALOG = fileURLToPath(new URL("../../../config/models.example.yaml", import.meta.url));

type Json = Readonly<Record<string, unknown>>;
const record = z.record(z.string(), z.unknown());

async function describedService(): Promise<{ readonly service: RunningService; readonly document: Json }> {
  const service = await testService({ configuration: { modelsFile: CATALOG } });
  const document = record.parse(await (await fetch(`${service.url}/openapi.json`)).json());
  return { service, document };
}

/** The part of the document that a `$ref` points to. */
function lookUp(document: Json, reference: string): unknown {
  let part: unknown = document;
  for (const step of reference.slice("#/".length).split("/")) part = record.parse(part)[step];
  return part;
}

/** A description next to a `$ref` takes precedence over that of its target. */
function descriptionOf(document: Json, part: Json): unknown {
  if ("description" in part) return part["description"];
  return "$ref" in part ? record.parse(lookUp(document, String(part["$ref"])))["description"] : undefined;
}

function referencesIn(part: unknown): readonly string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => (name === "$ref" ? [String(value)] : referencesIn(value)));
}

/** The part with every `$ref` replaced by its target. No schema of the API contains itself. */
function inlined(document: Json, part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map((item) => inlined(document, item));
  if ("$ref" in part) return inlined(document, lookUp(document, String(part.$ref)));
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, inlined(document, value)]));
}

function describedOperations(document: Json) {
  return Object.entries(record.parse(document["paths"])).flatMap(([path, item]) =>
    Object.entries(record.parse(item)).map(([method, operation]) =>
      Object.assign(operationSchema.parse(operation), { path, method }),
    ),
  );
}

const operationSchema = z.looseObject({
  operationId: z.string(),
  tags: z.array(z.string()).length(1),
  security: z.array(record).optional(),
  "x-beyond-spec": z.boolean().optional(),
  parameters: z
    .array(
      z.looseObject({
        name: z.string(),
        in: z.enum(["path", "query"]),
        required: z.boolean(),
        description: z.string(),
      }),
    )
    .optional(),
  requestBody: z.looseObject({ required: z.literal(true) }).optional(),
  responses: record,
});

describe("GET /openapi.json", () => {
  it("without a key → OpenAPI 3.1, API version 0.1.0", async () => {
    const { document } = await describedService();
    expect(document).toMatchObject({
      openapi: expect.stringMatching(/^3\.1\./),
      info: { version: "0.1.0" },
      servers: [{ url: "/" }],
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    });
  });

  it("If-None-Match with its ETag → 304", async () => {
    const { service } = await describedService();
    const etag = (await fetch(`${service.url}/openapi.json`)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const again = await fetch(`${service.url}/openapi.json`, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const other = await fetch(`${service.url}/openapi.json`, { headers: { "if-none-match": '"other"' } });
    expect(other.status).toBe(200);
  });

  it("every $ref resolves, and every schema is used", async () => {
    const { document } = await describedService();
    const references = new Set(referencesIn(document));
    for (const reference of references) expect([reference, lookUp(document, reference)]).not.toContain(undefined);
    const schemas = Object.keys(record.parse(lookUp(document, "#/components/schemas")));
    expect(schemas.filter((name) => !references.has(`#/components/schemas/${name}`))).toEqual([]);
  });

  it("every parameter has a description", async () => {
    const { document } = await describedService();
    const bare = describedOperations(document).flatMap(({ operationId, parameters = [] }) =>
      parameters.filter(({ description }) => description === "").map(({ name }) => `${operationId} ${name}`),
    );
    expect(bare).toEqual([]);
  });

  it("schemas have the names of the service document", async () => {
    const { document } = await describedService();
    expect(Object.keys(record.parse(lookUp(document, "#/components/schemas")))).toEqual(
      expect.arrayContaining([
        "FleetCreate",
        "FleetRobotSelection",
        "RobotSelector",
        "OperatingWindow",
        "FleetView",
        "ReadinessEstimate",
        "ReadinessMode",
        "FleetStatus",
        "FleetRobotCounts",
        "FleetModelGenerationView",
        "FleetUpdateView",
        "ValidationError",
        "HTTPValidationError",
      ]),
    );
    for (const name of ["FleetCreate", "FleetRobotSelection", "RobotSelector", "OperatingWindow", "FleetView"]) {
      expect(lookUp(document, `#/components/schemas/${name}`)).toMatchObject({ additionalProperties: false });
    }
  });

  it("RobotView: all members are required, and no others are allowed", async () => {
    const { document } = await describedService();
    expect(lookUp(document, "#/components/schemas/RobotView")).toMatchObject({
      required: [
        "id",
        "name",
        "robot_type_id",
        "region",
        "created_at",
        "site",
        "labels",
        "status",
        "installation_id",
        "last_seen_at",
        "location",
        "site_inference",
        "presence",
        "not_ready_reason",
      ],
      properties: { site: { type: ["string", "null"] }, labels: { additionalProperties: { type: "string" } } },
      additionalProperties: false,
    });
  });

  it("members that share a schema keep their own descriptions", async () => {
    const { document } = await describedService();
    const descriptionsIn = (name: string) => {
      const { properties } = record.parse(lookUp(document, `#/components/schemas/${name}`));
      return Object.values(record.parse(properties)).map((member) => record.parse(member)["description"]);
    };
    expect(descriptionsIn("WaitingCounts")).toEqual([
      "Their endpoint is not known to be healthy.",
      "The fleet is outside its operating windows.",
      "As many robots as peak_active_robots are active or ready.",
      "The robot itself is offline.",
    ]);
    const { properties } = record.parse(lookUp(document, "#/components/schemas/AuditEntry"));
    expect(record.parse(properties)["at"]).toEqual({ type: "string", format: "date-time" });
  });

  it("describes every operation, and marks those that the service document does not have", async () => {
    const { document } = await describedService();
    const described = describedOperations(document).filter(({ path }) => path.startsWith("/v1/"));
    const documented = described.map(({ operationId, method, path, tags, "x-beyond-spec": beyond, security }) =>
      [operationId, method.toUpperCase(), path, tags[0], beyond === true, security?.length === 0].join(" "),
    );
    const rows = (table: Readonly<Record<string, Operation>>, beyond: boolean) =>
      Object.entries(table).map(([id, { method, path, tag, scopes }]) =>
        [id, method, path, tag, beyond, scopes === "public" || scopes === "signed"].join(" "),
      );
    expect(documented.toSorted()).toEqual([...rows(operations, false), ...rows(beyondSpec, true)].toSorted());
  });

  it("describes each operation, its scope, and each of its answers", async () => {
    const { document } = await describedService();
    const scopes = new Map(
      Object.entries({ ...operations, ...beyondSpec }).map(([id, operation]) => [id, operation.scopes]),
    );
    const described = describedOperations(document);
    for (const { operationId, path, description, "x-scope": scope, responses } of described) {
      const answers = Object.values(responses).map((answer) => descriptionOf(document, record.parse(answer)));
      for (const text of [description, ...answers]) {
        expect([operationId, text]).toEqual([operationId, expect.stringMatching(/^.{5,}\.$/s)]);
      }
      if (path.startsWith("/v1/")) expect([operationId, scope]).toEqual([operationId, scopes.get(operationId)]);
    }
    expect(described.find(({ path }) => path === "/readyz")?.responses).toHaveProperty("503");
  });

  it("limits in the words are those of the service", () => {
    const { createFleet, createApiKey } = operations;
    const { getDeployment, startLogin, pollLogin } = beyondSpec;
    expect(createFleet.answers[409]).toContain(` ${FLEETS_MAXIMUM} fleets`);
    expect(createApiKey.answers[409]).toContain(` ${API_KEYS_MAXIMUM} keys`);
    expect(getDeployment.does).toContain(`within ${PREPARATION_TIMEOUT_MS / 60_000} minutes`);
    expect(startLogin.does).toContain(`within ${LOGIN_LIFETIME_MS / 60_000} minutes`);
    expect(pollLogin.does).toContain(`every ${POLL_INTERVAL_S} seconds`);
  });

  it("body with another content type → the error that the description quotes", async () => {
    const { service, document } = await describedService();
    const answer = await fetch(`${service.url}/v1/cli/login/start`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: JSON.stringify({ verifier: "v".repeat(43), callback_url: "http://127.0.0.1:1" }),
    });
    const { detail } = z.object({ detail: z.tuple([record]) }).parse(await answer.json());
    expect([answer.status, detail[0]["loc"]]).toEqual([422, ["body"]]);
    expect(record.parse(document["info"])["description"]).toContain(`"${String(detail[0]["msg"])}"`);
  });

  it("each operation declares its path parameters and the statuses that every client must expect", async () => {
    const { document } = await describedService();
    for (const { path, operationId, parameters, requestBody, responses } of describedOperations(document)) {
      const declared = (parameters ?? []).filter((parameter) => parameter.in === "path").map(({ name }) => name);
      expect([operationId, declared]).toEqual([operationId, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)]);
      const statuses = Object.keys(responses);
      expect(statuses).toEqual(expect.arrayContaining(["200", "default"]));
      if (!path.startsWith("/v1/")) continue;
      expect(statuses).toEqual(expect.arrayContaining(["401", "429", "503"]));
      // The service document: 422 wherever there is a body or a path parameter.
      if (requestBody !== undefined || path.includes("{")) expect(statuses).toContain("422");
    }
  });

  it("the examples in sequence → 200, and every answer matches its schema", async () => {
    const { service, document } = await describedService();
    const described = new Map(describedOperations(document).map((operation) => [operation.operationId, operation]));
    const ids: Record<string, string> = { slug: "pi0.5", robot: "packing-cell-4" };
    const ask = async (id: string, body?: unknown) => {
      const { method, path, responses } = described.get(id)!;
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "nobody");
      const answer = await service.send(method.toUpperCase(), url, body);
      const json: unknown = await answer.json();
      const schema = schemaOf(document, responses, String(answer.status));
      expect([id, answer.status, schema.safeParse(json).error?.issues]).toEqual([id, answer.status, undefined]);
      return { status: answer.status, json };
    };
    for (const [id, body] of Object.entries(EXAMPLES)) {
      const { status, json } = await ask(id, body);
      expect([id, status]).toEqual([id, 200]);
      const createdId = record.parse(json)["id"];
      if (id === "createFleet") ids["fleet_id"] = String(createdId);
      if (id === "createDeployment") ids["deployment_id"] = String(createdId);
      if (id === "createApiKey") ids["key_id"] = String(createdId);
      if (id === "createWebhook") ids["webhook_id"] = String(createdId);
    }
    const others = [...described].filter(([id, { path }]) => path.startsWith("/v1/") && !(id in EXAMPLES));
    // The robot was never enrolled.
    const missing = new Set(["getInstallation", "getEnrolment"]);
    for (const [id, { method }] of others) {
      if (method === "get") expect([id, (await ask(id)).status]).toEqual([id, missing.has(id) ? 404 : 200]);
    }
    for (const [id, { requestBody }] of others)
      if (requestBody !== undefined) expect([id, (await ask(id, {})).status]).toEqual([id, EMPTY_BODY.get(id) ?? 422]);
    expect((await ask("createFleet", EXAMPLES.createFleet)).status).toBe(409);
    for (const id of ["testWebhook", "rotateWebhook", "deleteWebhook"])
      expect([id, (await ask(id)).status]).toEqual([id, 200]);
    for (const id of ["retireDeployment", "revokeApiKey"]) expect((await ask(id)).status).toBe(200);
    for (const name of Object.keys(ids)) ids[name] = "nobody";
    for (const id of ["getRobot", "getFleet", "getModel", "getDeployment", "revokeApiKey"]) {
      expect((await ask(id)).status).toBe(404);
    }
  });
});

/** Statuses of an empty body other than 422: the operation refuses ordinary keys, finds no installation, or has no required member. */
const EMPTY_BODY = new Map([
  ["startEnrolment", 403],
  ["heartbeat", 403],
  ["claimRun", 401],
  ["changeInstallation", 404],
  ["rotateApiKey", 200],
]);

function schemaOf(document: Json, responses: Json, status: string): z.ZodType {
  const response = record.parse(inlined(document, responses[status] ?? responses["default"]));
  const { schema } = record.parse(record.parse(response["content"])["application/json"]);
  return z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema);
}
