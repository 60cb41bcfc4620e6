import type { DeploymentCreate } from "../../api/deployments.ts";
import { shown } from "../../documents/texts.ts";
import { bringProbesForward } from "../endpoints/index.ts";
import { type Answer, refuseInvalid } from "../kernel/http/answers.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { type Finding, ruleBroken } from "../kernel/validation/finding.ts";
import { findObstacle, resolveSubject, type Subject } from "../models/index.ts";
import { lockRobot, type RobotFullRow } from "../robots/index.ts";
import { beginUsage, judge, type Moment, moveDeployment } from "./transition.ts";
import { type DeploymentRow, findOffer, insertDeployment, lockCurrentDeployment } from "./queries.ts";

/** The requested deployment, and ids for what may be created. */
export interface WantedDeployment extends DeploymentCreate {
  readonly organization_id: string;
  readonly deploymentId: string;
  readonly generationId: string;
}

/** `isNew` is false if the robot's current deployment `id` has this checkpoint already. */
export interface Deployed {
  readonly isNew: boolean;
  readonly id: string;
  readonly replacedId: string | null;
}

/**
 * Deploys a model to a robot, and retires the robot's current deployment in the same transaction.
 *
 * A deployment that cannot work is refused, because it would replace a working one. A request for the checkpoint that the robot has
 * changes nothing, so that a client can repeat a request whose answer was lost; but a failed deployment is replaced.
 */
export async function deploy(
  transaction: Transaction,
  wanted: WantedDeployment,
  moment: Moment,
  author: Authorship,
): Promise<Deployed | Answer> {
  const { organization_id: organizationId } = wanted;
  const subject = await resolveSubject(transaction, wanted.model);
  // Locked, so that deployments of one robot are created one after the other.
  const robot = await lockRobot(transaction, organizationId, wanted.robot);
  if (subject === undefined || robot === undefined) return refuseInvalid(unknown(wanted, subject, robot));
  const current = await lockCurrentDeployment(transaction, organizationId, robot.id);
  if (current !== undefined && isSame(current, subject, robot)) {
    return { isNew: false, id: current.id, replacedId: null };
  }
  const { requirements, health } = await findOffer(transaction, subject.checkpoint_id, robot.region);
  const obstacle = await findObstacle(transaction, { ...robot, robot_id: robot.id }, requirements);
  if (obstacle !== null) return refuseInvalid([robotFinding(wanted, `the model ${obstacle}`)]);
  if (health === null) {
    const lack = `the model has no endpoint in the robot's region ${shown(robot.region)}`;
    return refuseInvalid([robotFinding(wanted, lack)]);
  }
  if (current !== undefined) await retire(transaction, current, moment);
  const deployment = newDeployment(wanted, robot, subject, moment.now);
  const verdict = judge({ ...deployment, isCompatible: true, health }, Date.parse(moment.now));
  const isActive = verdict.status === "active";
  await insertDeployment(transaction, {
    ...deployment,
    ...verdict,
    ...(isActive ? { activated_at: moment.now, ...(await beginUsage(transaction, deployment, moment)) } : {}),
  });
  if (!isActive) await bringProbesForward(transaction, subject.checkpoint_id, moment.now);
  const replacedId = current?.id ?? null;
  await audit(transaction, author, {
    action: "deployment.create",
    subjectId: deployment.id,
    details: { ...subject, robot_id: robot.id, replaced_id: replacedId },
  });
  return { isNew: true, id: deployment.id, replacedId };
}

/**
 * Retires the current deployment of a robot whose row the caller has locked.
 *
 * @returns its id, or null if the robot has none.
 */
export async function retireDeploymentOf(
  transaction: Transaction,
  organizationId: string,
  robotId: string,
  moment: Moment,
): Promise<string | null> {
  const deployment = await lockCurrentDeployment(transaction, organizationId, robotId);
  if (deployment === undefined) return null;
  await retire(transaction, deployment, moment);
  return deployment.id;
}

/** Retires a deployment. The caller has locked its row. */
export function retire(transaction: Transaction, deployment: DeploymentRow, moment: Moment): Promise<void> {
  const { last_error_code: lastErrorCode, region } = deployment;
  return moveDeployment(transaction, deployment, { status: "retired", last_error_code: lastErrorCode, region }, moment);
}

function isSame(current: DeploymentRow, { checkpoint_id: checkpointId }: Subject, { region }: RobotFullRow): boolean {
  return current.checkpoint_id === checkpointId && current.region === region && current.status !== "failed";
}

function newDeployment(wanted: WantedDeployment, robot: RobotFullRow, subject: Subject, now: string): DeploymentRow {
  return {
    id: wanted.deploymentId,
    organization_id: wanted.organization_id,
    robot_id: robot.id,
    model_slug: subject.model_slug,
    checkpoint_id: subject.checkpoint_id,
    region: robot.region,
    status: "preparing",
    generation_id: wanted.generationId,
    last_error_code: null,
    created_at: now,
    activated_at: null,
    retired_at: null,
    usage_from: null,
    usage_id: null,
    usage_until: null,
  };
}

/** Findings in the order of the body's members. */
function unknown(
  wanted: WantedDeployment,
  foundSubject: Subject | undefined,
  foundRobot: RobotFullRow | undefined,
): readonly Finding[] {
  const noModel = { ...ruleBroken("the catalog has no such model"), loc: ["body", "model"], input: wanted.model };
  const noRobot = robotFinding(wanted, "there is no such robot");
  return [...(foundSubject === undefined ? [noModel] : []), ...(foundRobot === undefined ? [noRobot] : [])];
}

function robotFinding({ robot }: WantedDeployment, message: string): Finding {
  return { ...ruleBroken(message), loc: ["body", "robot"], input: robot };
}
