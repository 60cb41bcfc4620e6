/**
 * The /v1 wire contract: what the three programs say to each other, as zod schemas, and nothing that does anything.
 *
 * This file is the table of the eleven operations, beyond-spec.ts that of what our own service answers beside them. Each
 * resource has a file of its own with its bodies, views and limits (robots.ts with contract.ts and robot-views.ts, fleets.ts,
 * deployments.ts, api-keys.ts, models.ts, usage.ts, sessions.ts), pages.ts the query of lists, errors.ts the bodies of refusals.
 * The service validates, answers and describes itself from these tables; clients build requests and decode answers with them. A
 * robot computer loads robot-terms.ts, robot-views.ts and errors.ts alone.
 */
import type * as z from "zod";

import { apiKeyCreatedSchema, apiKeyCreateSchema, apiKeyListSchema, apiKeyViewSchema } from "./api-keys.ts";
import type { ApiKeyScope } from "./api-keys.ts";
import { BODY_BYTES } from "./body-bytes.ts";
import { deploymentCreateSchema, deploymentViewSchema } from "./deployments.ts";
import { fleetCreateSchema, fleetListSchema, fleetModelUpdateSchema, fleetViewSchema } from "./fleets.ts";
import { modelViewSchema } from "./models.ts";
import { pageQuerySchema } from "./pages.ts";
import { robotSetupSchema } from "./robots.ts";
import { robotListSchema, robotSetupAnswerSchema } from "./robot-views.ts";
import { usageListSchema } from "./usage.ts";

/** One operation of the service. */
export type Operation = Address & (WithBody | WithoutBody);

/** What every operation has. Path parameters are written `{like_this}`. */
interface Address {
  readonly summary: string;
  readonly tag: "robots" | "fleets" | "customer-auth" | "catalog";
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: `/v1/${string}`;
  /** A key restricted to scopes needs one of these; `any` credential will do, or the operation is `public`. */
  readonly scopes: readonly [ApiKeyScope, ...ApiKeyScope[]] | "any" | "public";
  /** Query parameters; unknown ones are ignored. */
  readonly query?: z.ZodObject;
  readonly response: z.ZodType;
}

export interface WithBody<S extends z.ZodType = z.ZodType> {
  readonly request: S;
  /** A larger body is refused. */
  readonly bodyBytes: number;
}

export interface WithoutBody {
  readonly request: null;
}

/** The operations of the service document, section 4. */
export const operations = {
  setupRobot: {
    summary: "Register a robot",
    tag: "robots",
    method: "POST",
    path: "/v1/robots/setup",
    scopes: ["robots:setup"],
    request: robotSetupSchema,
    bodyBytes: BODY_BYTES.registration,
    response: robotSetupAnswerSchema,
  },
  listRobots: {
    summary: "List robots",
    tag: "robots",
    method: "GET",
    path: "/v1/robots",
    scopes: ["robots:read"],
    query: pageQuerySchema,
    request: null,
    response: robotListSchema,
  },
  createFleet: {
    summary: "Create a robot fleet",
    tag: "fleets",
    method: "POST",
    path: "/v1/fleets",
    scopes: ["fleets:write"],
    request: fleetCreateSchema,
    bodyBytes: BODY_BYTES.fleet,
    response: fleetViewSchema,
  },
  listFleets: {
    summary: "List robot fleets",
    tag: "fleets",
    method: "GET",
    path: "/v1/fleets",
    scopes: ["fleets:read"],
    query: pageQuerySchema,
    request: null,
    response: fleetListSchema,
  },
  updateFleetModel: {
    summary: "Update a fleet model",
    tag: "fleets",
    method: "POST",
    path: "/v1/fleets/{fleet_id}/model",
    scopes: ["fleets:write"],
    request: fleetModelUpdateSchema,
    bodyBytes: BODY_BYTES.names,
    response: fleetViewSchema,
  },
  createDeployment: {
    summary: "Deploy a model for a robot",
    tag: "customer-auth",
    method: "POST",
    path: "/v1/me/deployments",
    scopes: ["deployments:write"],
    request: deploymentCreateSchema,
    bodyBytes: BODY_BYTES.names,
    response: deploymentViewSchema,
  },
  createApiKey: {
    summary: "Create an API key",
    tag: "customer-auth",
    method: "POST",
    path: "/v1/me/api-keys",
    scopes: ["api-keys:write"],
    request: apiKeyCreateSchema,
    bodyBytes: BODY_BYTES.names,
    response: apiKeyCreatedSchema,
  },
  listApiKeys: {
    summary: "List API keys",
    tag: "customer-auth",
    method: "GET",
    path: "/v1/me/api-keys",
    scopes: ["api-keys:read"],
    query: pageQuerySchema,
    request: null,
    response: apiKeyListSchema,
  },
  revokeApiKey: {
    summary: "Revoke an API key",
    tag: "customer-auth",
    method: "DELETE",
    path: "/v1/me/api-keys/{key_id}",
    scopes: ["api-keys:write"],
    request: null,
    response: apiKeyViewSchema,
  },
  getModel: {
    summary: "Get a model",
    tag: "catalog",
    method: "GET",
    path: "/v1/models/{slug}",
    scopes: ["models:read"],
    request: null,
    response: modelViewSchema,
  },
  listUsage: {
    summary: "List hosted usage",
    tag: "customer-auth",
    method: "GET",
    path: "/v1/me/usage",
    scopes: ["usage:read"],
    query: pageQuerySchema,
    request: null,
    response: usageListSchema,
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;
