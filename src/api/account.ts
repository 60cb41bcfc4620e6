import * as z from "zod";

import { deploymentViewSchema } from "./deployments.ts";
import { apiKeyViewSchema } from "./keys.ts";
import type { Operation } from "./wire/operation.ts";

export const accountViewSchema = z.looseObject({
  organization: z.looseObject({ id: z.string(), name: z.string() }),
  deployments: z.array(deploymentViewSchema),
  api_keys: z.array(apiKeyViewSchema),
  deployment_count: z.int(),
  api_key_count: z.int(),
});

export const getAccount = {
  summary: "Tell what the organization has",
  tag: "customer-auth",
  method: "GET",
  path: "/v1/me/account",
  scopes: "any",
  request: null,
  response: accountViewSchema,
} as const satisfies Operation;
