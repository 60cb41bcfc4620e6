import * as z from "zod";

import { AUDIT_ACTIONS } from "./wire/audit-actions.ts";
import { operationsOf } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";
import { text } from "./wire/text.ts";

// /openapi.json takes a description from the schema object, so an object shared more widely would show its description everywhere.
/** ISO 8601 date-time. */
const time = z.string();
const nullableText = z.string().nullable();
export const actorSchema = z.object({ id: z.string(), label: nullableText });

/** An audited change. `details` depend on the action. */
const auditEntrySchema = z
  .object({
    id: z.string(),
    at: time,
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

/** Query of `GET /v1/me/audit`. */
const AUDIT_ID = /^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const auditQuerySchema = pageQuerySchema.extend({
  after: text({ pattern: AUDIT_ID })
    .optional()
    .describe("Id of an entry: only those after it, oldest first, for programs that follow the log."),
  before: text({ pattern: AUDIT_ID })
    .optional()
    .describe("Id of an entry: only those before it, newest first. It is ignored with after."),
});
export type AuditQuery = z.output<typeof auditQuerySchema>;

const operation = operationsOf("customer-auth");

export const listAudit = operation("GET", "/v1/me/audit", {
  summary: "List who changed what",
  does: "Lists who changed what in the organization: keys, fleets, deployments, logins. Registrations are in the history of each robot. Entries older than the retention period of the audit log are deleted.",
  answers: {
    200: "The whole list or one page, newest first; with after, oldest first. Entries of the same few seconds may become visible in another order than that of their ids: a program that must miss none asks with the id of an entry that is a minute old, and skips those that it has seen.",
  },
  scopes: ["audit:read"],
  query: auditQuerySchema,
  response: z.object({ items: z.array(auditEntrySchema) }).meta({ id: "AuditList" }),
});
