import * as z from "zod";

import { AUDIT_ACTIONS } from "./wire/audit-actions.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";

// /openapi.json takes a description from the schema object, so an object shared more widely would show its description everywhere.
/** ISO 8601 date-time. */
const moment = z.string();
const nullableText = z.string().nullable();
export const actorSchema = z.object({ id: z.string(), label: nullableText });

/** An audited change. `details` depend on the action. */
export const auditEntrySchema = z
  .object({
    id: z.string(),
    at: moment,
    action: z.string().describe(`${AUDIT_ACTIONS.join(", ")}. More may be added.`),
    subject_id: z.string().describe("Id of what was changed."),
    subject_name: nullableText.describe(
      "Name of a fleet or organization, label of a key, robot of a deployment. Null for what has no name, such as a session.",
    ),
    subject_model: nullableText.describe("Model of a deployment; null for everything else."),
    actor: actorSchema.describe(
      "Credential that made the change. label: label of the key, or of the key with which the session was created; name of the robot whose own computer it is.",
    ),
    request_id: nullableText,
    details: z.record(z.string(), z.unknown()).describe("Further details of the change; never a secret."),
  })
  .meta({ id: "AuditEntry" });
export type AuditEntryView = z.output<typeof auditEntrySchema>;

/** Answer of `GET /v1/me/audit`. */
export const auditListSchema = z.object({ items: z.array(auditEntrySchema) }).meta({ id: "AuditList" });

const operation = operationsOf("customer-auth");

export const listAudit = operation("GET", "/v1/me/audit", {
  summary: "List who changed what",
  does: "Lists who changed what in the organization: keys, fleets, deployments, logins. Registrations are in the history of each robot. Entries older than the retention period of the audit log are deleted.",
  answers: { 200: "The whole list or one page, newest first." },
  scopes: ["audit:read"],
  query: pageQuerySchema,
  response: auditListSchema,
});
