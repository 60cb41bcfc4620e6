import * as z from "zod";

import type { Operation } from "./wire/operation.ts";
import { pageQuerySchema } from "./wire/pages.ts";

// The description of the interface knows schemas by identity: shared with one other file alone, or its words would stand everywhere.
/** ISO 8601 date-time. */
export const moment = z.string();
export const nullableText = z.string().nullable();
export const actorSchema = z.object({ id: z.string(), label: nullableText });

/** A change somebody made. `details` depend on the action. */
export const auditEntrySchema = z.object({
  id: z.string(),
  at: moment,
  action: z.string(),
  subject_id: z.string(),
  subject_name: nullableText,
  subject_model: nullableText,
  actor: actorSchema,
  request_id: nullableText,
  details: z.record(z.string(), z.unknown()),
});

export type AuditEntryView = z.output<typeof auditEntrySchema>;

/** Answer of `GET /v1/me/audit`. */
export const auditListSchema = z.object({ items: z.array(auditEntrySchema) });

export const listAudit = {
  summary: "List who changed what",
  tag: "customer-auth",
  method: "GET",
  path: "/v1/me/audit",
  scopes: ["audit:read"],
  query: pageQuerySchema,
  request: null,
  response: auditListSchema,
} as const satisfies Operation;
