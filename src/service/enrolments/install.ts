import { type Draft, install, isRobotOnline, presenceAt, type PresenceContext } from "../installations/index.ts";
import type { OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import type { Tables } from "../kernel/store/tables.ts";
import { StoreUnavailableError } from "../kernel/store/unavailable.ts";
import {
  addEnrolledRobot,
  changeEnrolledRobot,
  type Enrolled,
  type EnrolledRobot,
  lockRobotNamed,
} from "../robots/index.ts";
import { announce } from "../webhooks/index.ts";
import { giveBackUses, lockEnrolment, updateEnrolment } from "./queries.ts";
import { type EnrolmentRow, type EnrolmentState, shownOf, stateAt, UNDECIDED } from "./rules.ts";

/** The first good poll after an approval. Everything in it is made before the transaction, because its job may run twice. */
export interface Installing {
  readonly enrolmentId: string;
  /** For what is new. */
  readonly ids: { readonly robot: string; readonly installation: string; readonly audit: string };
  readonly draft: Draft;
  /** ISO 8601. */
  readonly now: string;
  readonly requestId: string;
}

type InstallContext = PresenceContext & Pick<OperationContext, "newId">;

export type InstallOutcome =
  | {
      readonly state: "installed";
      readonly organizationId: string;
      readonly installationId: string;
      readonly enrolled: Enrolled;
      /** Installation of the computer that spoke for the robot before. */
      readonly replaced: string | null;
    }
  /** By another poll at the same time. */
  | { readonly state: "installed-before"; readonly organizationId: string; readonly installationId: string }
  /** A robot of this name came online after the approval, which did not agree to replace it: the enrolment is denied. */
  | { readonly state: "robot-online"; readonly robotId: string }
  | { readonly state: Exclude<EnrolmentState, "approved" | "installed"> };

/** An approved enrolment, with what the approval decided. */
interface Approved {
  readonly row: EnrolmentRow;
  readonly organizationId: string;
  readonly approvedBy: string;
  readonly madeBy: string;
  readonly robot: EnrolledRobot;
}

/** Makes the installation of an approved enrolment and revokes the robot's older one. */
export async function installEnrolled(
  transaction: Transaction,
  installing: Installing,
  context: InstallContext,
): Promise<InstallOutcome> {
  const row = await lockEnrolment(transaction, installing.enrolmentId);
  if (row === undefined) return { state: "expired" };
  const state = stateAt(row, installing.now);
  if (state !== "approved" && state !== "installed") return { state };
  const approved = readApproved(row);
  const { organizationId } = approved;
  if (row.installation_id !== null) {
    return { state: "installed-before", organizationId, installationId: row.installation_id };
  }
  let existing = await lockRobotNamed(transaction, organizationId, approved.robot.name);
  if (existing === undefined) {
    const identity = { id: installing.ids.robot, madeBy: approved.madeBy };
    const added = await addEnrolledRobot(transaction, approved.robot, identity, authorOf(approved, installing));
    if (added !== null) return complete(transaction, approved, added, installing, context);
    // Another computer has just enrolled as this robot, or set it up.
    existing = await lockRobotNamed(transaction, organizationId, approved.robot.name);
    if (existing === undefined) throw new StoreUnavailableError("The robot was removed while it enrolled");
  }
  return takeOver(transaction, approved, existing, installing, context);
}

async function takeOver(
  transaction: Transaction,
  approved: Approved,
  existing: Tables["robots"],
  installing: Installing,
  context: InstallContext,
): Promise<InstallOutcome> {
  const { row } = approved;
  if (row.key_id !== null) return leaveToPerson(transaction, row);
  const presence = presenceAt(Date.parse(installing.now), context);
  if (row.confirm_replace === 0 && (await isRobotOnline(transaction, existing, presence))) {
    await updateEnrolment(transaction, row.id, { status: "denied" });
    const { approval_id: subjectId, ...details } = shownOf(row);
    await audit(transaction, authorOf(approved, installing), {
      action: "enrolment.deny",
      subjectId,
      details: { ...details, reason: "robot_online", robot_id: existing.id },
    });
    return { state: "robot-online", robotId: existing.id };
  }
  const enrolled = await changeEnrolledRobot(transaction, existing, approved.robot, authorOf(approved, installing));
  return complete(transaction, approved, enrolled, installing, context);
}

async function complete(
  transaction: Transaction,
  approved: Approved,
  enrolled: Enrolled,
  installing: Installing,
  context: InstallContext,
): Promise<InstallOutcome> {
  const { row, organizationId, approvedBy } = approved;
  const { installation: installationId } = installing.ids;
  const robotId = enrolled.robot.id;
  const replaced = await install(
    transaction,
    {
      id: installationId,
      organization_id: organizationId,
      robot_id: robotId,
      public_key: row.public_key,
      approved_by: approvedBy,
    },
    installing.draft,
    context.identity,
  );
  await updateEnrolment(transaction, row.id, { installation_id: installationId });
  const { requested_name: _requestedName, ...shown } = shownOf(row);
  await audit(transaction, authorOf(approved, installing), {
    action: replaced === null ? "robot.enroll" : "robot.replace_computer",
    subjectId: robotId,
    details: {
      ...enrolled.details,
      ...shown,
      installation_id: installationId,
      ...(replaced === null ? {} : { replaced_installation_id: replaced }),
    },
  });
  await announce(transaction, context, {
    organizationId,
    type: "robot.enrolled",
    at: installing.now,
    data: () => ({
      robot_id: robotId,
      name: enrolled.robot.name,
      region: enrolled.robot.region,
      installation_id: installationId,
      is_new: enrolled.isNew,
      ...(replaced === null ? {} : { replaced_installation_id: replaced }),
    }),
  });
  return { state: "installed", organizationId, installationId, enrolled, replaced };
}

/** A robot of that name was added since a key approved the enrolment: a key never takes over a robot, so a person decides. */
async function leaveToPerson(transaction: Transaction, row: EnrolmentRow): Promise<InstallOutcome> {
  await updateEnrolment(transaction, row.id, UNDECIDED);
  await giveBackUses(transaction, [row]);
  return { state: "pending" };
}

function authorOf({ organizationId, approvedBy }: Approved, { ids, now, requestId }: Installing) {
  return { auditId: ids.audit, at: now, organizationId, actor: approvedBy, requestId };
}

function readApproved(row: EnrolmentRow): Approved {
  const { organization_id: organizationId, decided_by: approvedBy, made_by: madeBy } = row;
  const { decided_name: name, decided_region: region } = row;
  if (organizationId === null || approvedBy === null || madeBy === null || name === null || region === null) {
    throw new Error(`The enrolment ${row.id} is approved, but not decided`);
  }
  return {
    row,
    organizationId,
    approvedBy,
    madeBy,
    robot: { ...row, name, region },
  };
}
