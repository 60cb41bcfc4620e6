import * as z from "zod";
import { describe, expect, it } from "vitest";

import { beyondSpec, operations } from "../../../src/api/api.ts";
import type { Operation } from "../../../src/api/wire/operation.ts";

const all: readonly Operation[] = Object.values(operations);

describe("operations", () => {
  it("include the eleven of section 4 of the service document", () => {
    const rows = all.map(
      ({ method, path, tag, request }) => `${tag} ${method} ${path}${request === null ? "" : " body"}`,
    );
    expect(rows).toEqual([
      "robots POST /v1/robots/setup body",
      "robots GET /v1/robots",
      "fleets POST /v1/fleets body",
      "fleets GET /v1/fleets",
      "fleets POST /v1/fleets/{fleet_id}/model body",
      "customer-auth POST /v1/me/deployments body",
      "customer-auth POST /v1/me/api-keys body",
      "customer-auth GET /v1/me/api-keys",
      "customer-auth DELETE /v1/me/api-keys/{key_id}",
      "catalog GET /v1/models/{slug}",
      "customer-auth GET /v1/me/usage",
    ]);
  });

  it("each requires a scope, which limits the damage of a stolen key", () => {
    const scopes = Object.entries<Operation>({ ...operations, ...beyondSpec }).map(
      ([name, row]) => `${name}: ${Array.isArray(row.scopes) ? row.scopes.join(" or ") : row.scopes}`,
    );
    expect(scopes).toMatchInlineSnapshot(`
      [
        "setupRobot: robots:setup or robots:self",
        "listRobots: robots:read",
        "createFleet: fleets:write",
        "listFleets: fleets:read",
        "updateFleetModel: fleets:write",
        "createDeployment: deployments:write",
        "createApiKey: api-keys:write",
        "listApiKeys: api-keys:read",
        "revokeApiKey: api-keys:write",
        "getModel: models:read",
        "listUsage: usage:read",
        "getRobot: robots:read or robots:self",
        "getRegistration: robots:read or robots:setup or robots:self",
        "getRobotHistory: robots:read",
        "removeRobot: robots:write",
        "renameRobot: robots:write",
        "heartbeat: robots:self",
        "renewCredential: signed",
        "claimRun: signed",
        "getInstallation: robots:read",
        "changeInstallation: robots:write",
        "listRegistrations: robots:read",
        "listRefusals: robots:read or audit:read",
        "listAudit: audit:read",
        "getFleet: fleets:read",
        "changeFleet: fleets:write",
        "removeFleet: fleets:write",
        "getFleetDetails: fleets:read",
        "listFleetNeeds: fleets:read",
        "previewFleet: robots:read",
        "listModels: models:read",
        "listEndpoints: models:read",
        "listRegions: any",
        "listDeployments: deployments:read",
        "getDeployment: deployments:read",
        "pollDeployment: deployments:read",
        "retireDeployment: deployments:write",
        "summarizeUsage: usage:read",
        "startEnrolment: robots:enroll",
        "pollEnrolment: signed",
        "approveEnrolment: robots:write",
        "denyEnrolment: robots:write",
        "listEnrolments: robots:write",
        "getEnrolment: robots:write",
        "allowKeys: robots:write",
        "listAllowedKeys: robots:write",
        "removeAllowedKey: robots:write",
        "createWebhook: webhooks:write",
        "listWebhooks: webhooks:read",
        "getWebhook: webhooks:read",
        "changeWebhook: webhooks:write",
        "deleteWebhook: webhooks:write",
        "listDeliveries: webhooks:read",
        "getDelivery: webhooks:read",
        "resendDelivery: webhooks:write",
        "testWebhook: webhooks:write",
        "startLogin: public",
        "pollLogin: public",
        "exchangeLogin: public",
        "decideLogin: any",
        "endSession: any",
        "getSession: any",
        "getAccount: any",
      ]
    `);
  });

  it.each(all)("$method $path: JSON Schemas of its bodies", ({ request, response }) => {
    expect(() => z.toJSONSchema(response, { io: "input" })).not.toThrow();
    if (request !== null) expect(() => z.toJSONSchema(request, { io: "input" })).not.toThrow();
  });

  it("setupRobot: its JSON Schema contains the limits, in characters", () => {
    const schema = z.looseObject({
      properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })),
      required: z.array(z.string()),
    });
    const { $defs } = z.toJSONSchema(operations.setupRobot.request, { io: "input" });
    const { properties, required } = schema.parse($defs?.["RobotSetup"]);
    const boundsOf = (member: string) => ({ ...properties[member], description: "" });
    expect(required).toEqual(["name", "robot_type_id", "region", "configuration_digest"]);
    expect(boundsOf("name")).toEqual({ type: "string", minLength: 1, maxLength: 64, description: "" });
    expect(boundsOf("robot_type_id")).toEqual({ type: "string", minLength: 1, maxLength: 256, description: "" });
    const pattern = "^sha256:[0-9a-f]{64}$";
    expect(boundsOf("configuration_digest")).toEqual({ type: "string", pattern, description: "" });
  });
});
