import * as z from "zod";

import { deploymentViewSchema } from "./deployments.ts";
import { apiKeyViewSchema } from "./keys.ts";
import { operationsOf } from "./wire/operation.ts";

/** Maximum number of deployments, and of keys, in an overview. Their own lists have all of them. */
export const ACCOUNT_ITEMS_MAXIMUM = 100;

export const accountViewSchema = z
  .looseObject({
    organization: z.looseObject({ id: z.string(), name: z.string() }),
    deployments: z
      .array(deploymentViewSchema)
      .describe(
        `The newest ${ACCOUNT_ITEMS_MAXIMUM} deployments that are not retired; empty if the credential lacks deployments:read.`,
      ),
    api_keys: z
      .array(apiKeyViewSchema)
      .describe(
        `The newest ${ACCOUNT_ITEMS_MAXIMUM} keys that are neither revoked nor expired; empty if the credential lacks api-keys:read.`,
      ),
    deployment_count: z.int().describe("Number of all deployments that are not retired."),
    api_key_count: z.int().describe("Number of all keys that are neither revoked nor expired."),
  })
  .meta({ id: "AccountView" });

const operation = operationsOf("customer-auth");

export const getAccount = operation("GET", "/v1/me/account", {
  summary: "Get an overview of the organization",
  does: "Lists the newest current deployments and working API keys of the organization.",
  answers: { 200: "The organization, its deployments and its keys." },
  scopes: "any",
  response: accountViewSchema,
});
