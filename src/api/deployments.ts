import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import type { Operation } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";
import { text } from "./wire/text.ts";

/** The document shows no bounds; these hold every name and id there can be. */
export const DEPLOYMENT_MODEL_LENGTH = { maximum: 256 } as const;
export const DEPLOYMENT_ROBOT_LENGTH = { maximum: 256 } as const;

/** Body of `POST /v1/me/deployments`. `model` is a slug or a checkpoint id, `robot` a name or an id. */
export const deploymentCreateSchema = z.object({
  model: text(DEPLOYMENT_MODEL_LENGTH),
  robot: text(DEPLOYMENT_ROBOT_LENGTH),
});

export type DeploymentCreate = z.output<typeof deploymentCreateSchema>;

export const DEPLOYMENT_STATUSES = ["preparing", "active", "failed", "retired"] as const;

/** One model serving one robot. The document leaves its members open; a reader needs only `id` and `status`. */
export const deploymentViewSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  model: z.string().nullish(),
  subject_id: z.string().nullish(),
  robot: z.string().nullish(),
  robot_id: z.string().nullish(),
  region: z.string().nullish(),
  endpoint_url: z.string().nullish(),
  active_generation_id: z.string().nullish(),
  last_error_code: z.string().nullish(),
  created_at: z.string().nullish(),
  activated_at: z.string().nullish(),
  retired_at: z.string().nullish(),
});

export type DeploymentView = z.output<typeof deploymentViewSchema>;

/** Answer of `GET /v1/me/deployments`. */
export const deploymentListSchema = z.looseObject({ items: z.array(deploymentViewSchema) });

export const createDeployment = {
  summary: "Deploy a model for a robot",
  tag: "customer-auth",
  method: "POST",
  path: "/v1/me/deployments",
  scopes: ["deployments:write"],
  request: deploymentCreateSchema,
  bodyBytes: BODY_BYTES.names,
  response: deploymentViewSchema,
} as const satisfies Operation;

export const listDeployments = {
  summary: "List deployments",
  tag: "customer-auth",
  method: "GET",
  path: "/v1/me/deployments",
  scopes: ["deployments:read"],
  query: pageQuerySchema,
  request: null,
  response: deploymentListSchema,
} as const satisfies Operation;

export const getDeployment = {
  summary: "Get a deployment",
  tag: "customer-auth",
  method: "GET",
  path: "/v1/me/deployments/{deployment_id}",
  scopes: ["deployments:read"],
  request: null,
  response: deploymentViewSchema,
} as const satisfies Operation;

export const pollDeployment = {
  summary: "Get a deployment, where existing clients poll",
  tag: "customer-auth",
  method: "GET",
  path: "/v1/deployments/{deployment_id}",
  scopes: ["deployments:read"],
  request: null,
  response: deploymentViewSchema,
} as const satisfies Operation;

export const retireDeployment = {
  summary: "Retire a deployment",
  tag: "customer-auth",
  method: "DELETE",
  path: "/v1/me/deployments/{deployment_id}",
  scopes: ["deployments:write"],
  request: null,
  response: deploymentViewSchema,
} as const satisfies Operation;
