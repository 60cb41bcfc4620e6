/** The audit log: its list, and its retention (tasks.ts). Resources write entries with kernel/store/audit.ts. */
import * as z from "zod";

import type { AuditEntryView } from "../../api/audit.ts";
import { listHandler } from "../kernel/lists/answer-list.ts";
import { type LabelledEntry, listChanges } from "./queries.ts";

/** `GET /v1/me/audit`: the changes in an organization except registrations, newest first. */
export const listOrganizationAudit = listHandler("aud", listChanges, viewEntry);

const detailsSchema = z.record(z.string(), z.unknown());

function viewEntry(entry: LabelledEntry): AuditEntryView {
  const { id, at, action, actor, label } = entry;
  return {
    id,
    at,
    action,
    subject_id: entry.subject_id,
    subject_name: entry.subject_name,
    subject_model: entry.subject_model,
    actor: { id: actor, label },
    request_id: entry.request_id,
    details: detailsSchema.parse(JSON.parse(entry.details)),
  };
}
