import type { AuditAction } from "../../../api/wire/audit-actions.ts";
import { isoNow } from "../../../platform/clock.ts";
import type { NewId } from "../ids.ts";
import type { ServiceMachine } from "../machine.ts";
import { prepare } from "./prepared.ts";
import type { Tables, Transaction } from "./tables.ts";

/** Who made a change, and in which request. Created before the transaction, because its job may run twice. */
export interface Authorship {
  /** Id of the entry, by `newId("aud")`. */
  readonly auditId: string;
  /** ISO 8601. */
  readonly at: string;
  readonly organizationId: string | null;
  /** `key_…`, `ses_…`, or `command`. */
  readonly actor: string;
  readonly requestId: string | null;
}

/** The author of a change that a command on the service's computer makes, not a request. */
export function commandAuthor(
  { newId, machine: { clock } }: { readonly newId: NewId; readonly machine: Pick<ServiceMachine, "clock"> },
  organizationId: string | null,
): Authorship {
  const at = isoNow(clock);
  return { auditId: newId("aud"), at, organizationId, actor: "command", requestId: null };
}

/** One entry of the audit log. `details` never hold a secret. */
export interface AuditEntry {
  readonly action: AuditAction;
  readonly subjectId: string;
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
}

/** Records a change in the transaction that makes it, so that neither exists without the other. */
export async function audit(transaction: Transaction, author: Authorship, entry: AuditEntry): Promise<void> {
  await insert(transaction, rowOf(author, entry));
}

function rowOf(
  { auditId, at, organizationId, actor, requestId }: Authorship,
  { action, subjectId, details }: AuditEntry,
): Tables["audit_log"] {
  return {
    id: auditId,
    organization_id: organizationId,
    at,
    actor,
    request_id: requestId,
    action,
    subject_id: subjectId,
    details: JSON.stringify(details),
  };
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
  }),
);
