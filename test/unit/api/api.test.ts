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

  it("each requires the scope to read or write what its path names, which limits the damage of a stolen key", () => {
    const usual = ({ method, path }: Operation) => {
      const [resource = ""] = path.replace(/^\/v1\/(?:me\/)?/, "").split("/");
      return `${resource}:${method === "GET" ? "read" : "write"}`;
    };
    const others = Object.entries<Operation>({ ...operations, ...beyondSpec })
      .map(([name, operation]) => [name, [operation.scopes].flat().join(" or "), usual(operation)] as const)
      .filter(([, scopes, usualScope]) => scopes !== usualScope);
    expect(Object.fromEntries(others)).toEqual({
      setupRobot: "robots:setup or robots:self",
      getRobot: "robots:read or robots:self",
      putRegistrationParts: "robots:setup or robots:self",
      putSharedContent: "robots:setup or robots:self",
      getRegistration: "robots:read or robots:setup or robots:self",
      heartbeat: "robots:self",
      renewCredential: "signed",
      claimRun: "signed",
      listRegistrations: "robots:read",
      listFleetNeeds: "fleets:read",
      previewFleet: "robots:read",
      listEndpoints: "models:read",
      listRegions: "public",
      startEnrolment: "robots:enroll",
      pollEnrolment: "signed",
      listEnrolments: "robots:write",
      getEnrolment: "robots:write",
      startLogin: "public",
      pollLogin: "public",
      exchangeLogin: "public",
      decideLogin: "any",
      endSession: "any",
      getSession: "any",
      getAccount: "any",
    });
  });
});
