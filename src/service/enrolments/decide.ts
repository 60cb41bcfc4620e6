import type { EnrolmentApproval, EnrolmentDenial } from "../../api/enrolments.ts";
import { isoNow } from "../../platform/clock.ts";
import { isRobotOnline, presenceAt } from "../installations/index.ts";
import type { Principal } from "../kernel/auth/authenticate.ts";
import { type Answer, answerValue, isAnswer, refuse } from "../kernel/http/answers.ts";
import { authorship, type Handler } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { findRobotNamed, GENERIC_ROBOT_TYPE_ID, readLabels, type RobotQuota } from "../robots/index.ts";
import { type GuessLimit, readUserCode, showUserCode } from "./codes.ts";
import { findByCode, giveBackUses, lockEnrolment, updateEnrolment } from "./queries.ts";
import { refuseDecision, refuseOnline, refuseOtherValues, UNKNOWN_CODE } from "./refusals.ts";
import { approvalOf, decide, type EnrolmentRow, isFoundBy, overlaid, shownOf, stateAt } from "./rules.ts";
import type { EnrolmentsContext } from "./start.ts";

interface Approved {
  readonly robotTypeId: string;
  readonly isRepeated: boolean;
}

/** `POST /v1/robots/approve`: the enrolment belongs to the organization from then on, and its computer gets a credential when it polls. */
export function approveEnrolment(
  context: EnrolmentsContext,
  quota: RobotQuota,
  guesses: GuessLimit,
): Handler<EnrolmentApproval> {
  const { newId, machine } = context;
  return async (call) => {
    const { principal, body } = call;
    const found = await lookUp(context, guesses, principal, body.user_code);
    if (isAnswer(found)) return found;
    const decision = decide(found, body);
    if (decision.state === "invalid") return refuseDecision(decision, "approver");
    const { name, region } = decision;
    const site = (body.site ?? "") === "" ? found.site : (body.site ?? null);
    const labels = overlaid(found.labels, body.labels ?? {});
    const isGiven = (body.site ?? body.labels ?? null) !== null;
    const full = await quota.refusal(principal);
    const now = isoNow(machine.clock);
    const author = authorship(call, newId, now);
    const confirmed = body.confirm_replace === true;
    const approved = await call.write(async (transaction): Promise<Approved | Answer> => {
      const row = await lockFound(transaction, found.id, principal, now);
      if (row === undefined) return UNKNOWN_CODE;
      const robot = await findRobotNamed(transaction, principal.organizationId, name);
      const robotTypeId = robot?.robot_type_id ?? row.robot_type_id ?? GENERIC_ROBOT_TYPE_ID;
      if (row.status === "approved") {
        const isSame = row.decided_name === name && row.decided_region === region;
        if (!isSame || row.site !== site || row.labels !== labels) return refuseOtherValues(row);
        if (confirmed) await updateEnrolment(transaction, row.id, { confirm_replace: 1 });
        return { robotTypeId, isRepeated: true };
      }
      if (robot === undefined) {
        if (full !== null) return refuse("Conflict", full);
      } else if (!confirmed) {
        const presence = presenceAt(Date.parse(now), context);
        if (await isRobotOnline(transaction, robot, presence)) return refuseOnline(name);
      }
      await updateEnrolment(transaction, row.id, {
        ...approvalOf(principal, now, decision),
        site,
        labels,
        confirm_replace: confirmed ? 1 : 0,
      });
      const { approval_id: subjectId, ...shown } = shownOf(row);
      await audit(transaction, author, {
        action: "enrolment.approve",
        subjectId,
        details: { ...shown, name, region, site, labels, confirm_replace: confirmed },
      });
      return { robotTypeId, isRepeated: false };
    });
    if (isAnswer(approved)) return approved;
    if (!approved.isRepeated) {
      const fields = { request_id: call.requestId, credential_id: principal.credentialId, ...shownOf(found) };
      machine.log.info("enrolment_approved", { ...fields, name, region, confirm_replace: confirmed });
    }
    return answerValue({
      approval_id: found.id,
      user_code: showUserCode(found.user_code),
      status: "approved",
      requested_name: name,
      region,
      robot_type_id: approved.robotTypeId,
      // Clients of the wire, which give neither, get the answer that it describes.
      ...(isGiven ? { site, labels: Object.fromEntries(readLabels(labels)) } : {}),
    });
  };
}

/** `POST /v1/robots/deny`: also an approval that the computer has not polled for yet. */
export function denyEnrolment(context: EnrolmentsContext, guesses: GuessLimit): Handler<EnrolmentDenial> {
  const { newId, machine } = context;
  return async (call) => {
    const { principal, body } = call;
    const found = await lookUp(context, guesses, principal, body.user_code);
    if (isAnswer(found)) return found;
    const now = isoNow(machine.clock);
    const author = authorship(call, newId, now);
    const isDenied = await call.write(async (transaction) => {
      const row = await lockFound(transaction, found.id, principal, now);
      if (row === undefined || row.installation_id !== null) return false;
      const { organizationId, credentialId } = principal;
      await updateEnrolment(transaction, row.id, {
        status: "denied",
        organization_id: organizationId,
        decided_by: credentialId,
        decided_at: now,
      });
      await giveBackUses(transaction, [row]);
      const { approval_id: subjectId, ...details } = shownOf(row);
      await audit(transaction, author, { action: "enrolment.deny", subjectId, details });
      return true;
    });
    if (!isDenied) return UNKNOWN_CODE;
    const fields = { request_id: call.requestId, credential_id: principal.credentialId };
    machine.log.info("enrolment_denied", { ...fields, ...shownOf(found) });
    return answerValue({
      approval_id: found.id,
      user_code: showUserCode(found.user_code),
      status: "denied",
      requested_name: found.requested_name,
    });
  };
}

/** The enrolment of this code, if people of the principal's organization may find it; else a refusal. Wrong codes count. */
export async function lookUp(
  { store, machine }: EnrolmentsContext,
  guesses: GuessLimit,
  principal: Principal,
  typedCode: string,
): Promise<EnrolmentRow | Answer> {
  const looked = await guesses.look(principal, async () => {
    const now = isoNow(machine.clock);
    const row = await findByCode(store.lookup, readUserCode(typedCode), now);
    return row !== undefined && isFoundBy(row, principal.organizationId) ? row : null;
  });
  return looked ?? UNKNOWN_CODE;
}

/** The enrolment again, locked, unless it has ended or is of another organization now. */
async function lockFound(
  transaction: Transaction,
  id: string,
  { organizationId }: Principal,
  now: string,
): Promise<EnrolmentRow | undefined> {
  const row = await lockEnrolment(transaction, id);
  if (row === undefined || !isFoundBy(row, organizationId)) return undefined;
  const state = stateAt(row, now);
  return state === "pending" || state === "approved" || state === "installed" ? row : undefined;
}
