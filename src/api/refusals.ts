import * as z from "zod";

import { actorSchema, moment, nullableText } from "./audit.ts";
import { operationsOf } from "./wire/operation.ts";

/** Most refused registrations in an organization's list: the newest. */
export const REFUSALS_SHOWN = { maximum: 1000 } as const;

/** Registrations of one robot that were refused for the same reason, as one entry. */
export const refusalSchema = z
  .object({
    id: z.string(),
    robot: nullableText.describe(
      "Robot name in the request; null if the request was refused before its body was read.",
    ),
    status: z
      .int()
      .describe("HTTP status of the answers: 401, 403, 409, 413, 422, 429, or 400 for a body that cannot be parsed."),
    detail: z.string().describe("Reason in the newest answer. For invalid inputs, their locations and messages."),
    actor: actorSchema.describe(
      "Credential of the request. label: label of the key, or of the key with which the session was created; name of the robot whose own computer it is.",
    ),
    address: z.string().describe("Address of the client; behind a trusted proxy, the address that the proxy reports."),
    request_id: nullableText.describe("Id of the newest request."),
    first_at: moment,
    last_at: moment,
    count: z.int().describe("Number of refused requests from first_at to last_at."),
  })
  .meta({ id: "Refusal" });
export type RefusalView = z.output<typeof refusalSchema>;

/** Query of `GET /v1/me/refusals`. */
export const refusalQuerySchema = z.object({
  robot: z
    .string()
    .optional()
    .describe(
      "Name or id of a robot. The answer has the refusals of this robot, and those without a robot name that were sent with the credential of its last registration.",
    ),
});
export type RefusalQuery = z.output<typeof refusalQuerySchema>;

/** Answer of `GET /v1/me/refusals`. */
export const refusalListSchema = z.object({ items: z.array(refusalSchema) }).meta({ id: "RefusalList" });

const operation = operationsOf("robots");

export const listRefusals = operation("GET", "/v1/me/refusals", {
  summary: "List registrations that were refused",
  does: "Lists refused registrations that were sent with a credential of the organization, including a credential that no longer works. Requests with the same robot, credential, address and status share one entry, which describes the newest of them. Entries appear within seconds and are kept as long as the audit log, but at most the newest 1000 of an organization and 100 of a robot. This list has no pages.",
  answers: { 200: "Newest first." },
  scopes: ["robots:read", "audit:read"],
  query: refusalQuerySchema,
  response: refusalListSchema,
});
