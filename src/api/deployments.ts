import * as z from "zod";

import { BODY_BYTES } from "./wire/body-bytes.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema, WHOLE_LIST } from "./wire/pages.ts";
import { describeValues, text } from "./wire/text.ts";

/** Body of `POST /v1/me/deployments`. The service document gives no bounds; these fit every possible name and id. */
export const deploymentCreateSchema = z
  .object({
    model: text({ maximum: 256 }).describe("Slug of a model or id of a checkpoint."),
    robot: text({ maximum: 256 }).describe("Name or id of a robot."),
  })
  .meta({ id: "DeploymentCreate" });
export type DeploymentCreate = z.output<typeof deploymentCreateSchema>;

export const DEPLOYMENT_STATUSES = ["preparing", "active", "failed", "retired"] as const;
export const DEPLOYMENT_STATUS_MEANINGS: Readonly<Record<(typeof DEPLOYMENT_STATUSES)[number], string>> = {
  preparing: "the endpoint in the robot's region is not known to be healthy yet",
  active: "the robot is served",
  failed: "last_error_code says why; the deployment recovers by itself once that is fixed",
  retired: "the deployment was ended or replaced; this is final",
};

/** One model serving one robot. The service document leaves the members open; a client needs only `id` and `status`. */
export const deploymentViewSchema = z
  .looseObject({
    id: z.string(),
    status: z.string().describe(`${describeValues(DEPLOYMENT_STATUS_MEANINGS)} More values may be added.`),
    model: z.string().nullish().describe("Slug of the model."),
    subject_id: z.string().nullish().describe("Id of the checkpoint."),
    robot: z.string().nullish().describe("Name of the robot."),
    robot_id: z.string().nullish(),
    region: z.string().nullish().describe("Region of the endpoint that serves the robot."),
    endpoint_url: z
      .string()
      .nullish()
      .describe(
        "URL to which the robot sends its observations while the deployment is active; null for a retired deployment.",
      ),
    active_generation_id: z.string().nullish().describe("Null unless the status is active."),
    last_error_code: z
      .string()
      .nullish()
      .describe(
        "robot_incompatible: the robot registered again or the catalog changed, and the robot no longer meets the requirements of the checkpoint. no_endpoint_in_region: the checkpoint has no endpoint in the robot's region. preparation_timeout: the endpoint did not become healthy in time. endpoint_failing: the endpoint was healthy and no longer is. Null if there is no error; a retired deployment keeps its last code. More values may be added.",
      ),
    created_at: z.string().nullish(),
    activated_at: z.string().nullish().describe("When the deployment first became active."),
    retired_at: z.string().nullish(),
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        "How the robot differs from those that the checkpoint was trained on, where the catalog has it said, a sentence each; first what stops the deployment, if it does. Absent without any.",
      ),
  })
  .meta({ id: "DeploymentView" });
export type DeploymentView = z.output<typeof deploymentViewSchema>;

/** Answer of `GET /v1/me/deployments`. */
export const deploymentListSchema = z
  .looseObject({ items: z.array(deploymentViewSchema) })
  .meta({ id: "DeploymentList" });

/** Query of the list of deployments: retired ones are kept for ever. */
export const deploymentsQuerySchema = pageQuerySchema.extend({
  current: z.boolean().optional().describe("True: only deployments that are not retired."),
  robot_id: text({ maximum: 256 }).optional().describe("Only deployments of this robot."),
});
export type DeploymentsQuery = z.output<typeof deploymentsQuerySchema>;

const operation = operationsOf("customer-auth");

export const createDeployment = operation("POST", "/v1/me/deployments", {
  summary: "Deploy a model for a robot",
  does: "Deploys a model to a robot and retires the robot's current deployment in the same transaction. The deployment is active immediately if the endpoint in the robot's region is known to be healthy; otherwise it is preparing until the endpoint is healthy. If the robot's current deployment already is of this model, the answer is that deployment; a failed one is retried.",
  answers: {
    200: "The robot's current deployment, new or existing.",
    422: "An input is invalid, the model is not in the catalog, the robot does not exist, the robot does not meet the model's requirements, or the model has no endpoint in the robot's region. The robot's current deployment does not change.",
  },
  scopes: ["deployments:write"],
  request: deploymentCreateSchema,
  bodyBytes: BODY_BYTES.names,
  response: deploymentViewSchema,
});

export const listDeployments = operation("GET", "/v1/me/deployments", {
  summary: "List deployments",
  does: "Lists the deployments of the organization, also retired ones unless current is true.",
  answers: { 200: WHOLE_LIST },
  scopes: ["deployments:read"],
  query: deploymentsQuerySchema,
  response: deploymentListSchema,
});

export const getDeployment = operation("GET", "/v1/me/deployments/{deployment_id}", {
  summary: "Get a deployment",
  does: "Returns one deployment. Its status is evaluated every few seconds. A deployment fails if its endpoint does not become healthy within 15 minutes, and becomes active by itself once the cause of the failure is fixed.",
  answers: { 200: "The deployment." },
  scopes: ["deployments:read"],
  response: deploymentViewSchema,
});

export const pollDeployment = operation("GET", "/v1/deployments/{deployment_id}", {
  summary: "Get a deployment, where existing clients poll",
  does: "The same as GET /v1/me/deployments/{deployment_id}.",
  answers: { 200: "The deployment." },
  scopes: ["deployments:read"],
  response: deploymentViewSchema,
});

export const retireDeployment = operation("DELETE", "/v1/me/deployments/{deployment_id}", {
  summary: "Retire a deployment",
  does: "Retires a deployment and ends its usage period. Retiring a retired deployment changes nothing.",
  answers: { 200: "The deployment, with retired_at and without endpoint_url." },
  scopes: ["deployments:write"],
  response: deploymentViewSchema,
});
