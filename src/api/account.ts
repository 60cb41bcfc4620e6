import * as z from "zod";

import { deploymentViewSchema } from "./deployments.ts";
import { apiKeyViewSchema } from "./keys.ts";
import type { Operation } from "./wire/operation.ts";

/** Deployments, and keys, that an overview shows: whoever wants all of them asks for their lists. */
export const ACCOUNT_ITEMS_MAXIMUM = 100;

export const accountViewSchema = z
  .looseObject({
    organization: z.looseObject({ id: z.string(), name: z.string() }),
    deployments: z
      .array(deploymentViewSchema)
      .describe(
        `The newest ${ACCOUNT_ITEMS_MAXIMUM} that are not retired; none for a credential that lacks deployments:read.`,
      ),
    api_keys: z
      .array(apiKeyViewSchema)
      .describe(
        `The newest ${ACCOUNT_ITEMS_MAXIMUM} that are neither revoked nor expired; none for a credential that lacks api-keys:read.`,
      ),
    deployment_count: z.int().describe("All that are not retired."),
    api_key_count: z.int().describe("All that are neither revoked nor expired."),
  })
  .meta({ id: "AccountView" });

export const getAccount = {
  summary: "Tell what the organization has",
  tag: "customer-auth",
  method: "GET",
  path: "/v1/me/account",
  scopes: "any",
  request: null,
  response: accountViewSchema,
} as const satisfies Operation;
