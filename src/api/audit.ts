import * as z from "zod";

/** ISO 8601 date-time. */
const moment = z.string();
const nullableText = z.string().nullable();
const actorSchema = z.object({ id: z.string(), label: nullableText });

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

/** Refused registrations that an organization's list has at most: the newest. */
export const REFUSALS_SHOWN = { maximum: 1000 } as const;

/** Registrations of one robot that were refused alike, as one entry. */
export const refusalSchema = z.object({
  id: z.string(),
  robot: nullableText,
  status: z.int(),
  detail: z.string(),
  actor: actorSchema,
  address: z.string(),
  request_id: nullableText,
  first_at: moment,
  last_at: moment,
  count: z.int(),
});

export type RefusalView = z.output<typeof refusalSchema>;

/** Query of `GET /v1/me/refusals`. */
export const refusalQuerySchema = z.object({ robot: z.string().optional() });

export type RefusalQuery = z.output<typeof refusalQuerySchema>;

/** Answer of `GET /v1/me/refusals`. */
export const refusalListSchema = z.object({ items: z.array(refusalSchema) });
