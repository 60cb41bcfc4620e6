import type { Principal } from "../kernel/auth/authenticate.ts";
import { readKeyEnrolment } from "../kernel/auth/key-enrolment.ts";
import { type Answer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import type { Reader, Transaction } from "../kernel/store/store.ts";
import { ruleBroken } from "../kernel/validation/finding.ts";
import { findRobotNamed, readLabels, type RobotQuota } from "../robots/index.ts";
import { takeUse } from "./queries.ts";
import { NOT_FOR_ENROLMENTS, refuseDecision } from "./refusals.ts";
import { approvalOf, decide, type EnrolmentRow, overlaid } from "./rules.ts";

/** An enrolment with a key for enrolments, before it is known whether the key approves it. */
export interface BulkStart {
  /** Waits for a person of the key's organization. */
  readonly row: EnrolmentRow;
  readonly name: string;
  readonly region: string;
}

/** Lays the site, region and labels of the key over what the computer said, and judges the result. */
export async function prepareBulk(
  reader: Reader,
  quota: RobotQuota,
  row: EnrolmentRow,
  principal: Principal,
): Promise<BulkStart | Answer> {
  const { organizationId, keyId } = principal;
  const key = await reader
    .selectFrom("api_keys")
    .select("enrolment")
    .where("organization_id", "=", organizationId)
    .where("id", "=", keyId)
    .executeTakeFirst();
  const terms = readKeyEnrolment(key?.enrolment ?? null);
  if (terms === null) return NOT_FOR_ENROLMENTS;
  if (row.wanted_organization_id !== null && row.wanted_organization_id !== organizationId) {
    const fault = ruleBroken("the key for enrolments belongs to another organization");
    return refuseInvalid([{ ...fault, loc: ["body", "organization_id"], input: row.wanted_organization_id }]);
  }
  const { site, region, labels } = terms;
  const merged: EnrolmentRow = {
    ...row,
    site: site ?? row.site,
    region: region ?? row.region,
    labels: overlaid(row.labels, Object.fromEntries(readLabels(labels))),
    wanted_organization_id: organizationId,
  };
  const decision = decide(merged, {});
  if (decision.state === "invalid") return refuseDecision(decision, "computer");
  const refusal = await quota.organizationRefusal(principal);
  if (refusal !== null) return refuse("Conflict", refusal);
  return { row: merged, name: decision.name, region: decision.region };
}

/**
 * Approves an enrolment for the key that it starts with, and takes one of its uses. If there is a robot of that name, the enrolment waits
 * for a person instead: such a key never takes over a robot.
 *
 * @returns null if the key has no uses left.
 */
export async function approveByKey(
  transaction: Transaction,
  { row, name, region }: BulkStart,
  principal: Principal,
): Promise<EnrolmentRow | null> {
  const { organizationId, keyId } = principal;
  if ((await findRobotNamed(transaction, organizationId, name)) !== undefined) return row;
  if (!(await takeUse(transaction, keyId))) return null;
  return { ...row, ...approvalOf(principal, row.created_at, { name, region }), key_id: keyId };
}
