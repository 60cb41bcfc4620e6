/** The audit log: its list, and its retention (tasks.ts). Resources write entries with kernel/store/audit.ts. */
import * as z from "zod";

import type { AuditEntryView, AuditQuery } from "../../api/audit.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { type LabelledEntry, listChanges } from "./queries.ts";

/** `GET /v1/me/audit`: the changes in an organization except registrations, newest first; with `after` those after an entry, oldest first. */
export function listOrganizationAudit({ store }: Pick<OperationContext, "store">): Handler<null, AuditQuery> {
  return (call) => {
    const { after } = call.query;
    const order = after === undefined ? "newest" : "oldest";
    return answerList(call, {
      prefix: "aud",
      around: ITEMS,
      fetch: (range) =>
        listChanges(
          store.reader,
          call.principal.organizationId,
          { ...range, after: range.after ?? after ?? null },
          order,
        ),
      view: viewEntry,
    });
  };
}

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
