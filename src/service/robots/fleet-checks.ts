import type { Authorship } from "../kernel/store/audit.ts";
import { prepare } from "../kernel/store/prepared.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";

/**
 * Has a robot compared with the selectors of fleets that follow them, or a fleet with all robots: soon after the commit, so that a
 * registration takes one statement more and waits for no fleet. Call it in the transaction that changes the robot or fleet.
 *
 * @param author of that change; its `auditId` is the id of the check, so at most one check belongs to it.
 */
export async function requestFleetCheck(
  transaction: Transaction,
  { auditId, actor, requestId }: Pick<Authorship, "auditId" | "actor" | "requestId">,
  organizationId: string,
  subjectId: string,
): Promise<void> {
  const author = { id: auditId, actor, request_id: requestId };
  await insert(transaction, { ...author, organization_id: organizationId, subject_id: subjectId });
}

const insert = prepare<Tables["fleet_checks"], never>((database, parameter) =>
  database.insertInto("fleet_checks").values({
    id: parameter("id"),
    organization_id: parameter("organization_id"),
    subject_id: parameter("subject_id"),
    actor: parameter("actor"),
    request_id: parameter("request_id"),
  }),
);
