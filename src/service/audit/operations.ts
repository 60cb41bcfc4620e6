/** The audit log: who changed what, and how long that is kept (tasks.ts). Every resource writes its entries with kernel/store/audit.ts. */
import * as z from "zod";

import type { AuditEntryView } from "../../api/audit.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { listChanges } from "./queries.ts";
import type { LabelledEntry } from "./queries.ts";

/** `GET /v1/me/audit`: who changed what in the organization, newest first, but for registrations. */
export function listOrganizationAudit({ store }: OperationContext): Handler<null, PageQuery> {
  return (call) =>
    answerList(call, {
      prefix: "aud",
      around: ITEMS,
      fetch: (range) => listChanges(store.reader, call.principal.organization_id, range),
      view: viewEntry,
    });
}

const detailsSchema = z.record(z.string(), z.unknown());

function viewEntry(entry: LabelledEntry): AuditEntryView {
  const { id, at, action, actor, label } = entry;
  const details = detailsSchema.parse(JSON.parse(entry.details));
  return {
    id,
    at,
    action,
    subject_id: entry.subject_id,
    subject_name: entry.subject_name,
    subject_model: entry.subject_model,
    actor: { id: actor, label },
    request_id: entry.request_id,
    details,
  };
}
