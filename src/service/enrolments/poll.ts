import type { EnrolmentEnd, EnrolmentPoll } from "../../api/enrolments.ts";
import { enrolmentText } from "../../api/wire/signed-texts.ts";
import { isoNow, isoTime } from "../../platform/clock.ts";
import { draftCredential, presenceAt, reissue, termsOf } from "../installations/index.ts";
import { isSignedBy } from "../../platform/ed25519.ts";
import { hashSecret, isSameHash } from "../kernel/auth/token.ts";
import { type Answer, answerValue } from "../kernel/http/answers.ts";
import type { PublicHandler } from "../kernel/operation.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { findIdentifiedRobot, identifiedRobotView, type IdentifiedRow } from "../robots/index.ts";
import { installEnrolled, type Installing } from "./install.ts";
import { findEnrolment } from "./queries.ts";
import { UNKNOWN_ENROLMENT } from "./refusals.ts";
import { type EnrolmentRow, POLL_INTERVAL_S, shownOf, stateAt } from "./rules.ts";
import type { EnrolmentsContext } from "./start.ts";

/**
 * `POST /v1/robot-agent/enrollment/poll`: the first one after the approval makes the installation. Until its credential is used, a repeated
 * poll is answered with a fresh value for the same installation, so that an answer may be lost.
 */
export function pollEnrolment(context: EnrolmentsContext): PublicHandler<EnrolmentPoll> {
  const { store, machine } = context;
  return async ({ body, requestId }) => {
    const row = await findEnrolment(store.lookup, body.approval_id);
    if (row === undefined || !isProof(row, body)) return UNKNOWN_ENROLMENT;
    const state = stateAt(row, isoNow(machine.clock));
    // Most polls end here, without a write.
    if (state !== "approved" && state !== "installed") return answerState(state);
    return pollApproved(context, row, requestId);
  };
}

/** The signature is verified in any case, so that the time does not tell whether the token is right. */
function isProof(row: EnrolmentRow, { poll_token: token, signature }: EnrolmentPoll): boolean {
  const isSigned = isSignedBy(row.public_key, enrolmentText(row.id, token), signature);
  return isSameHash(row.poll_token_sha256, hashSecret(token)) && isSigned;
}

async function pollApproved(context: EnrolmentsContext, row: EnrolmentRow, requestId: string): Promise<Answer> {
  const { store, newId, machine, identity, nudge } = context;
  const nowMs = machine.clock.wallMs();
  const now = isoTime(nowMs);
  const draft = draftCredential(machine, identity);
  const ids = { robot: newId("rob"), installation: newId("rinst"), audit: newId("aud") };
  const installing: Installing = { enrolmentId: row.id, ids, draft, now, requestId };
  const polled = await store.write(async (transaction) => {
    const outcome = installedBefore(row) ?? (await installEnrolled(transaction, installing, context));
    if (outcome.state !== "installed" && outcome.state !== "installed-before") return { outcome, robot: undefined };
    const { organizationId, installationId } = outcome;
    const isIssued =
      outcome.state === "installed" || (await reissue(transaction, organizationId, installationId, draft, identity));
    if (!isIssued) return { outcome: { state: "consumed" } as const, robot: undefined };
    return { outcome, robot: await robotOf(transaction, outcome) };
  });
  const { outcome, robot } = polled;
  if (outcome.state === "installed") {
    const { enrolled, installationId, replaced } = outcome;
    machine.log.info("robot_enrolled", {
      request_id: requestId,
      ...shownOf(row),
      robot_id: enrolled.robot.id,
      name: enrolled.robot.name,
      installation_id: installationId,
      ...(replaced === null ? {} : { replaced_installation_id: replaced }),
    });
    if (enrolled.isRefitted) nudge();
  }
  if (outcome.state === "robot-online") {
    machine.log.warn("enrolment_denied", {
      request_id: requestId,
      ...shownOf(row),
      robot_id: outcome.robotId,
      name: row.decided_name,
      reason: "the robot came online after the approval, and nobody agreed to replace its computer",
      fix: "enroll the computer again, and approve it with confirm_replace",
    });
    return answerState("denied");
  }
  // What a key or the list approved waits for a person again.
  if (outcome.state === "pending") return answerState("pending", { reason: "name_exists" });
  if (outcome.state !== "installed" && outcome.state !== "installed-before") return answerState(outcome.state);
  // The robot was removed since, and its installation revoked.
  if (robot === undefined) return answerState("consumed");
  const view = identifiedRobotView(robot, presenceAt(nowMs, context));
  const terms = termsOf(draft, { robotId: robot.id, installationId: outcome.installationId, generation: 1 }, nowMs);
  return answerValue({ status: "approved", robot: view, installation_token: draft.token, ...terms });
}

/**
 * What is known of a row that was read without a lock: an installation stays. Then the enrolment is not locked, as the first use of the
 * credential locks the installation first, too.
 */
function installedBefore({ organization_id: organizationId, installation_id: installationId }: EnrolmentRow) {
  if (organizationId === null || installationId === null) return null;
  return { state: "installed-before", organizationId, installationId } as const;
}

async function robotOf(
  transaction: Transaction,
  { organizationId, installationId }: { readonly organizationId: string; readonly installationId: string },
): Promise<IdentifiedRow | undefined> {
  const { robot_id: robotId } = await transaction
    .selectFrom("installations")
    .select("robot_id")
    .where("id", "=", installationId)
    .executeTakeFirstOrThrow();
  return findIdentifiedRobot(transaction, organizationId, robotId);
}

function answerState(status: "pending" | EnrolmentEnd, more: { readonly reason?: "name_exists" } = {}): Answer {
  const waits = status === "pending" ? { retry_after_s: POLL_INTERVAL_S } : {};
  return answerValue({ status, ...waits, ...more });
}
