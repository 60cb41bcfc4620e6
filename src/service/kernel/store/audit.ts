import type { Transaction } from "kysely";

import { prepare } from "./prepared.ts";
import type { Tables } from "./tables.ts";

/** Audited actions: `<resource>.<verb>`. */
export type AuditAction =
  | "api_key.create"
  | "api_key.revoke"
  | "deployment.create"
  | "deployment.retire"
  | "fleet.create"
  | "fleet.update_model"
  | "login.approve"
  | "login.deny"
  | "models.apply"
  | "organization.create"
  | "robot.setup"
  | "session.create"
  | "session.end";

/** Who made a change, and in which request. Created before the transaction, because its job may run twice. */
export interface Authorship {
  /** Id of the entry, by `newId("aud")`. */
  readonly audit_id: string;
  /** ISO 8601. */
  readonly at: string;
  readonly organizationId: string | null;
  /** `key_…`, `ses_…`, or `command`. */
  readonly actor: string;
  readonly requestId: string | null;
}

/** One entry of the audit log. `details` never hold a secret. */
export interface AuditEntry {
  readonly action: AuditAction;
  readonly subjectId: string;
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
  /** For a registration: id of the entry of the previous one. */
  readonly previousId?: string | null;
}

/** Records a change in the transaction that makes it, so that neither exists without the other. */
export async function audit(
  transaction: Transaction<Tables>,
  { audit_id: auditId, at, organizationId, actor, requestId }: Authorship,
  { action, subjectId, details, previousId = null }: AuditEntry,
): Promise<void> {
  const entry = {
    id: auditId,
    organization_id: organizationId,
    at,
    actor,
    request_id: requestId,
    action,
    subject_id: subjectId,
    previous_id: previousId,
  };
  await insert(transaction, { ...entry, details: JSON.stringify(details) });
}

const insert = prepare<Tables["audit_log"], never>((database, parameter) =>
  database.insertInto("audit_log").values({
    id: parameter("id"),
    organization_id: parameter("organization_id"),
    at: parameter("at"),
    actor: parameter("actor"),
    request_id: parameter("request_id"),
    action: parameter("action"),
    subject_id: parameter("subject_id"),
    details: parameter("details"),
    previous_id: parameter("previous_id"),
  }),
);
