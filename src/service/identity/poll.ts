import type { EnrolmentEnd, EnrolmentPoll } from "../../api/enrolments.ts";
import { enrolmentText } from "../../api/wire/signed-texts.ts";
import { isoTime } from "../../platform/clock.ts";
import { isSignedBy } from "../../platform/ed25519.ts";
import { type Draft, draftCredential, termsOf } from "./credentials.ts";
import { install, reissue } from "./installations.ts";
import { isRobotOnline, presenceAt } from "./presence.ts";
import { hashSecret, isSameHash } from "../kernel/auth/token.ts";
import { type Answer, answerValue, refuse } from "../kernel/http/answers.ts";
import type { OpenHandler } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { StoreUnavailableError } from "../kernel/store/unavailable.ts";
import {
  addEnrolledRobot,
  changeEnrolledRobot,
  type Enrolled,
  type EnrolledRobot,
  findIdentifiedRobot,
  identifiedRobotView,
  type IdentifiedRow,
  lockRobotNamed,
} from "../robots/index.ts";
import { announce } from "../webhooks/index.ts";
import {
  type EnrolmentRow,
  type EnrolmentsContext,
  entryOf,
  findEnrolment,
  lockEnrolment,
  shownOf,
  stateAt,
  UNDECIDED,
  updateEnrolment,
} from "./enrolments.ts";
import { POLL_INTERVAL_S } from "./start.ts";

/** Unknown enrolment, wrong token and wrong signature are not told apart. */
const UNKNOWN_ENROLMENT = refuse(
  "NotFound",
  "There is no such enrolment, or the proof is not of its computer; start the enrolment again on the robot",
);

/** What is made before the transaction, because its job may run twice. */
interface Prepared {
  readonly draft: Draft;
  /** For what is new. */
  readonly ids: { readonly robot: string; readonly installation: string; readonly audit: string };
  /** ISO 8601. */
  readonly now: string;
  readonly requestId: string;
}

/** An installation, which no later poll changes. `enrolled` is null where an earlier poll made it. */
interface Installed {
  readonly state: "installed";
  readonly organizationId: string;
  readonly installationId: string;
  readonly enrolled: (Enrolled & { readonly replaced: string | null }) | null;
}

type NotInstalled =
  | { readonly state: EnrolmentEnd }
  /** A robot of this name was added since a key approved the enrolment: a person decides. */
  | { readonly state: "pending" }
  /** A robot of this name came online after the approval, which did not agree to replace it: the enrolment is denied. */
  | { readonly state: "robot-online"; readonly robotId: string };

/**
 * `POST /v1/robot-agent/enrollment/poll`: the first one after the approval makes the installation. Until its credential is used, a repeated
 * poll is answered with a fresh value for the same installation, so that an answer may be lost.
 */
export function pollEnrolment(context: EnrolmentsContext): OpenHandler<EnrolmentPoll> {
  const { store, newId, machine, identity, nudge } = context;
  return async ({ body, requestId }) => {
    const row = await findEnrolment(store.lookup, body.approval_id);
    if (row === undefined || !isProof(row, body)) return UNKNOWN_ENROLMENT;
    const nowMs = machine.clock.wallMs();
    const now = isoTime(nowMs);
    const state = stateAt(row, now);
    // Most polls end here, without a write.
    if (state !== "approved" && state !== "installed") return answerState(state);
    const draft = draftCredential(machine, identity);
    const ids = { robot: newId("rob"), installation: newId("rinst"), audit: newId("aud") };
    const prepared = { draft, ids, now, requestId };
    const polled = await store.write((transaction) => issue(transaction, row, prepared, context));
    const shown = { request_id: requestId, ...shownOf(row) };
    if (polled.state === "robot-online") {
      machine.log.warn("enrolment_denied", {
        ...shown,
        robot_id: polled.robotId,
        name: row.decided_name,
        reason: "the robot came online after the approval, and nobody agreed to replace its computer",
        fix: "enroll the computer again, and approve it with confirm_replace",
      });
      return answerState("denied");
    }
    if (polled.state !== "issued") return answerState(polled.state, "name_exists");
    const { robot, installationId, enrolled } = polled;
    if (enrolled !== null) {
      const { id, name } = enrolled.robot;
      const fields = { ...shown, robot_id: id, name, installation_id: installationId, ...replacedOf(enrolled) };
      machine.log.info("robot_enrolled", fields);
      if (enrolled.isRefitted) nudge();
    }
    const view = identifiedRobotView(robot, presenceAt(nowMs, context));
    const terms = termsOf(draft, { robotId: robot.id, installationId, generation: 1 }, nowMs);
    return answerValue({ status: "approved", robot: view, installation_token: draft.token, ...terms });
  };
}

/** The signature is verified in any case, so that the time does not tell whether the token is right. */
function isProof(row: EnrolmentRow, { poll_token: token, signature }: EnrolmentPoll): boolean {
  const isSigned = isSignedBy(row.public_key, enrolmentText(row.id, token), signature);
  return isSameHash(row.poll_token_sha256, hashSecret(token)) && isSigned;
}

/** @param reason of an enrolment that waits for a person again. */
function answerState(status: "pending" | EnrolmentEnd, reason?: "name_exists"): Answer {
  return answerValue(status === "pending" ? { status, retry_after_s: POLL_INTERVAL_S, reason } : { status });
}

/** The credential for the answer: of a new installation, or in place of one whose answer may be lost. */
async function issue(
  transaction: Transaction,
  row: EnrolmentRow,
  prepared: Prepared,
  context: EnrolmentsContext,
): Promise<
  NotInstalled | (Pick<Installed, "installationId" | "enrolled"> & { state: "issued"; readonly robot: IdentifiedRow })
> {
  const made = installedBefore(row) ?? (await installEnrolled(transaction, row.id, prepared, context));
  if (made.state !== "installed") return made;
  const { organizationId, installationId, enrolled } = made;
  const robotId =
    enrolled === null
      ? await reissue(transaction, organizationId, installationId, prepared.draft, context.identity)
      : enrolled.robot.id;
  const robot = robotId === null ? undefined : await findIdentifiedRobot(transaction, organizationId, robotId);
  return robot === undefined ? { state: "consumed" } : { state: "issued", robot, installationId, enrolled };
}

/**
 * What is known of a row even if it was read without a lock: an installation stays. Then the enrolment is not locked, as the first use of
 * the credential locks the installation first, too.
 */
function installedBefore(row: Pick<EnrolmentRow, "organization_id" | "installation_id">): Installed | null {
  const { organization_id: organizationId, installation_id: installationId } = row;
  if (organizationId === null || installationId === null) return null;
  return { state: "installed", organizationId, installationId, enrolled: null };
}

/** Makes the installation of an approved enrolment and revokes the robot's older one. */
async function installEnrolled(
  transaction: Transaction,
  enrolmentId: string,
  prepared: Prepared,
  context: EnrolmentsContext,
): Promise<Installed | NotInstalled> {
  const { ids, now, requestId } = prepared;
  const row = await lockEnrolment(transaction, enrolmentId);
  if (row === undefined) return { state: "expired" };
  const state = stateAt(row, now);
  if (state !== "approved" && state !== "installed") return { state };
  const before = installedBefore(row);
  if (before !== null) return before;
  const approved = readApproved(row);
  const { organizationId, approvedBy: actor, robot } = approved;
  const author = { auditId: ids.audit, at: now, organizationId, actor, requestId };
  let existing = await lockRobotNamed(transaction, organizationId, robot.name);
  if (existing === undefined) {
    const identity = { id: ids.robot, madeBy: approved.madeBy };
    const added = await addEnrolledRobot(transaction, robot, identity, author);
    if (added !== null) return complete(transaction, approved, added, prepared, context);
    // Another computer has just enrolled as this robot, or set it up.
    existing = await lockRobotNamed(transaction, organizationId, robot.name);
    if (existing === undefined) throw new StoreUnavailableError("The robot was removed while it enrolled");
  }
  if (row.key_id !== null) {
    // A key never takes over a robot.
    await updateEnrolment(transaction, row.id, UNDECIDED);
    return { state: "pending" };
  }
  const presence = presenceAt(Date.parse(now), context);
  if (row.confirm_replace === 0 && (await isRobotOnline(transaction, existing, presence))) {
    await updateEnrolment(transaction, row.id, { status: "denied" });
    const why = { reason: "robot_online", robot_id: existing.id };
    await audit(transaction, author, entryOf("enrolment.deny", row, why));
    return { state: "robot-online", robotId: existing.id };
  }
  const changed = await changeEnrolledRobot(transaction, existing, robot, author);
  return complete(transaction, approved, changed, prepared, context);
}

/** An approved enrolment, with what the approval decided. */
interface Approved {
  readonly row: EnrolmentRow;
  readonly organizationId: string;
  readonly approvedBy: string;
  readonly madeBy: string;
  readonly robot: EnrolledRobot;
}

function readApproved(row: EnrolmentRow): Approved {
  const { organization_id: organizationId, decided_by: approvedBy, made_by: madeBy } = row;
  const { decided_name: name, decided_region: region } = row;
  if (organizationId === null || approvedBy === null || madeBy === null || name === null || region === null) {
    throw new Error(`The enrolment ${row.id} is approved, but not decided`);
  }
  return { row, organizationId, approvedBy, madeBy, robot: { ...row, name, region } };
}

async function complete(
  transaction: Transaction,
  { row, organizationId, approvedBy }: Approved,
  enrolled: Enrolled,
  { ids, draft, now, requestId }: Prepared,
  context: EnrolmentsContext,
): Promise<Installed> {
  const { installation: installationId } = ids;
  const { id: robotId, name, region } = enrolled.robot;
  const installation = {
    id: installationId,
    organization_id: organizationId,
    robot_id: robotId,
    public_key: row.public_key,
    approved_by: approvedBy,
  };
  const replaced = await install(transaction, installation, draft, context.identity);
  await updateEnrolment(transaction, row.id, { installation_id: installationId });
  const { requested_name: _requestedName, ...shown } = shownOf(row);
  const author = { auditId: ids.audit, at: now, organizationId, actor: approvedBy, requestId };
  const installed = { installation_id: installationId, ...replacedOf({ replaced }) };
  await audit(transaction, author, {
    action: replaced === null ? "robot.enroll" : "robot.replace_computer",
    subjectId: robotId,
    details: { ...enrolled.details, ...shown, ...installed },
  });
  const { installation_id, ...more } = installed;
  const data = () => ({ robot_id: robotId, name, region, installation_id, is_new: enrolled.isNew, ...more });
  await announce(transaction, context, { organizationId, type: "robot.enrolled", at: now, data });
  return { state: "installed", organizationId, installationId, enrolled: { ...enrolled, replaced } };
}

/** The installation that this one replaced, for the audit log; nothing if there was none. */
function replacedOf({ replaced }: { readonly replaced: string | null }) {
  return replaced === null ? {} : { replaced_installation_id: replaced };
}
