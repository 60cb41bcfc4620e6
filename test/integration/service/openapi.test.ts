import { fileURLToPath } from "node:url";

import * as z from "zod";
import { describe, expect, it } from "vitest";

import { beyondSpec, operations } from "../../../src/api/api.ts";
import type { Operation } from "../../../src/api/wire/operation.ts";
import { PREPARATION_TIMEOUT_MS } from "../../../src/service/deployments/transition.ts";
import { FLEETS_MAXIMUM } from "../../../src/service/fleets/operations.ts";
import { API_KEYS_MAXIMUM } from "../../../src/service/keys/keys.ts";
import { LOGIN_LIFETIME_MS, POLL_INTERVAL_S } from "../../../src/service/logins/logins.ts";
import { openApiDocument } from "../../../src/service/openapi/openapi.ts";
import { EXAMPLES } from "../../../src/service/openapi/paths.ts";
import { testService } from "../../support/service/test-service.ts";

const CATALOG = fileURLToPath(new URL("../../../config/models.example.yaml", import.meta.url));

type Json = Readonly<Record<string, unknown>>;
const record = z.record(z.string(), z.unknown());

const document: Json = record.parse(JSON.parse(Buffer.from(openApiDocument().bytes).toString("utf8")));

/** The part of the document that a `$ref` points to. */
function lookUp(reference: string): unknown {
  let part: unknown = document;
  for (const step of reference.slice("#/".length).split("/")) part = record.parse(part)[step];
  return part;
}

/** A description next to a `$ref` takes precedence over that of its target. */
function descriptionOf(part: Json): unknown {
  if ("description" in part) return part["description"];
  return "$ref" in part ? record.parse(lookUp(String(part["$ref"])))["description"] : undefined;
}

function referencesIn(part: unknown): readonly string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => (name === "$ref" ? [String(value)] : referencesIn(value)));
}

/** The part with every `$ref` replaced by its target. No schema of the API contains itself. */
function inlined(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map((item) => inlined(item));
  if ("$ref" in part) return inlined(lookUp(String(part.$ref)));
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, inlined(value)]));
}

const operationSchema = z.looseObject({
  operationId: z.string(),
  tags: z.array(z.string()).length(1),
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

const described = Object.entries(record.parse(document["paths"])).flatMap(([path, item]) =>
  Object.entries(record.parse(item)).map(([method, operation]) =>
    Object.assign(operationSchema.parse(operation), { path, method }),
  ),
);

describe("GET /openapi.json", () => {
  it("without a key → the document; with its ETag → 304", async () => {
    const service = await testService();
    const answer = await fetch(`${service.url}/openapi.json`);
    expect(await answer.json()).toEqual(document);
    const etag = answer.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const again = await fetch(`${service.url}/openapi.json`, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const other = await fetch(`${service.url}/openapi.json`, { headers: { "if-none-match": '"other"' } });
    expect(other.status).toBe(200);
  });

  it("every $ref resolves, and every schema is used", () => {
    const references = new Set(referencesIn(document));
    for (const reference of references) expect([reference, lookUp(reference)]).not.toContain(undefined);
    const schemas = Object.keys(record.parse(lookUp("#/components/schemas")));
    expect(schemas.filter((name) => !references.has(`#/components/schemas/${name}`))).toEqual([]);
  });

  it("schemas of the service document have its names, and no other members", () => {
    for (const name of ["FleetCreate", "FleetRobotSelection", "RobotSelector", "OperatingWindow", "FleetView"]) {
      expect(lookUp(`#/components/schemas/${name}`)).toMatchObject({ additionalProperties: false });
    }
  });

  it("members that share a schema keep their own descriptions", () => {
    expect(lookUp("#/components/schemas/WaitingCounts")).toMatchObject({
      properties: {
        endpoint: { description: "Their endpoint is not known to be healthy." },
        window: { description: "The fleet is outside its operating windows." },
      },
    });
    const { properties } = record.parse(lookUp("#/components/schemas/AuditEntry"));
    expect(record.parse(properties)["at"]).toEqual({ type: "string", format: "date-time" });
  });

  it("describes every operation, and marks those that the service document does not have", () => {
    const documented = described
      .filter(({ path }) => path.startsWith("/v1/"))
      .map(({ operationId, method, path, tags, "x-beyond-spec": beyond, "x-scope": scope }) =>
        [operationId, method.toUpperCase(), path, tags[0], beyond === true, String(scope)].join(" "),
      );
    const rows = (table: Readonly<Record<string, Operation>>, beyond: boolean) =>
      Object.entries(table).map(([id, { method, path, tag, scopes }]) =>
        [id, method, path, tag, beyond, String(scopes)].join(" "),
      );
    expect(documented.toSorted()).toEqual([...rows(operations, false), ...rows(beyondSpec, true)].toSorted());
  });

  it.each(described)("$operationId: its words, parameters and statuses", (operation) => {
    const { path, description, parameters = [], requestBody, responses } = operation;
    const answers = Object.values(responses).map((answer) => descriptionOf(record.parse(answer)));
    for (const text of [description, ...answers]) expect(text).toMatch(/^.{5,}\.$/s);
    expect(parameters.filter((parameter) => parameter.description === "")).toEqual([]);
    const declared = parameters.filter((parameter) => parameter.in === "path").map(({ name }) => name);
    expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    // The service document: 422 wherever there is a body or a path parameter.
    const wanted = requestBody !== undefined || path.includes("{") ? ["422"] : [];
    if (path.startsWith("/v1/")) wanted.push("401", "429", "503");
    expect(Object.keys(responses)).toEqual(expect.arrayContaining([...wanted, "200", "default"]));
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
    const service = await testService();
    const answer = await fetch(`${service.url}/v1/cli/login/start`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: JSON.stringify({ verifier: "v".repeat(43), callback_url: "http://127.0.0.1:1" }),
    });
    const { detail } = z.object({ detail: z.tuple([record]) }).parse(await answer.json());
    expect([answer.status, detail[0]["loc"]]).toEqual([422, ["body"]]);
    expect(record.parse(document["info"])["description"]).toContain(`"${String(detail[0]["msg"])}"`);
  });

  it("the examples in sequence → 200, and every answer matches its schema", async () => {
    const service = await testService({ configuration: { modelsFile: CATALOG } });
    const byId = new Map(described.map((operation) => [operation.operationId, operation]));
    const ids: Record<string, string> = { slug: "pi0.5", robot: "packing-cell-4" };
    const ask = async (id: string, body?: unknown) => {
      const { method, path, responses } = byId.get(id)!;
      const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "nobody");
      const answer = await service.send(method.toUpperCase(), url, body);
      const json: unknown = await answer.json();
      const schema = schemaOf(responses, String(answer.status));
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
    const others = [...byId].filter(([id, { path }]) => path.startsWith("/v1/") && !(id in EXAMPLES));
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

function schemaOf(responses: Json, status: string): z.ZodType {
  const response = record.parse(inlined(responses[status] ?? responses["default"]));
  const { schema } = record.parse(record.parse(response["content"])["application/json"]);
  return z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema);
}
