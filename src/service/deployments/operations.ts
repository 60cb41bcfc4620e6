/** Answers requests about deployments: one robot with one checkpoint. */
import type { DeploymentCreate, DeploymentsQuery, DeploymentView } from "../../api/deployments.ts";
import { bringProbesForward, missingEndpoint } from "../endpoints/index.ts";
import { type Answer, answerValue, isAnswer, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { PageRange } from "../kernel/lists/pages.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit, type Authorship } from "../kernel/store/audit.ts";
import type { Transaction } from "../kernel/store/store.ts";
import { type Finding, ruleBroken } from "../kernel/validation/finding.ts";
import { findVerdict, resolveSubject, warningsOf } from "../models/index.ts";
import { lockRobot } from "../robots/index.ts";
import {
  type DeploymentRow,
  type DeploymentViewRow,
  findDeployment,
  findOffer,
  listDeployments,
  lockCurrentDeployment,
  lockDeployment,
} from "./queries.ts";
import { beginUsage, type ChangeTime, changeTimeNow, judge, moveDeployment } from "./transition.ts";

/** `POST /v1/me/deployments`: the deployment is active immediately if its endpoint is healthy. */
export function createDeployment(context: OperationContext): Handler<DeploymentCreate> {
  const { newId, machine } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const time = changeTimeNow(context);
    const wanted = {
      ...call.body,
      organization_id: organizationId,
      deploymentId: newId("dep"),
      generationId: newId("gen"),
    };
    const author = authorship(call, newId, time.now);
    const outcome = await call.write(async (transaction) => {
      const deployed = await deploy(transaction, wanted, time, author);
      if (isAnswer(deployed)) return deployed;
      return { ...deployed, view: await findDeployment(transaction, organizationId, deployed.id) };
    });
    if (isAnswer(outcome)) return outcome;
    const { isNew, id, replacedId, view } = outcome;
    if (isNew) {
      logChange(machine, "deployment_created", author, { deployment_id: id, replaced_id: replacedId });
      context.nudge();
    }
    return answerView(view);
  };
}

/** The requested deployment, and ids for what may be created. */
export interface WantedDeployment extends DeploymentCreate {
  readonly organization_id: string;
  readonly deploymentId: string;
  readonly generationId: string;
}

/** `isNew` is false if the robot's current deployment `id` has this checkpoint already. */
interface Deployed {
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
  time: ChangeTime,
  author: Authorship,
): Promise<Deployed | Answer> {
  const { organization_id: organizationId, deploymentId: id } = wanted;
  const { now } = time;
  const subject = await resolveSubject(transaction, wanted.model);
  // Locked, so that deployments of one robot are created one after the other.
  const robot = await lockRobot(transaction, organizationId, wanted.robot);
  if (subject === undefined || robot === undefined) {
    const noModel = { ...ruleBroken("the catalog has no such model"), loc: ["body", "model"], input: wanted.model };
    const noRobot = robotFinding(wanted, "there is no such robot");
    return refuseInvalid([...(subject === undefined ? [noModel] : []), ...(robot === undefined ? [noRobot] : [])]);
  }
  const { id: robotId, region } = robot;
  const { checkpoint_id: checkpointId } = subject;
  const current = await lockCurrentDeployment(transaction, organizationId, robotId);
  const isSame = current?.checkpoint_id === checkpointId && current.region === region && current.status !== "failed";
  if (isSame) return { isNew: false, id: current.id, replacedId: null };
  const { requirements, health } = await findOffer(transaction, checkpointId, region);
  const { obstacle } = await findVerdict(transaction, { ...robot, robot_id: robotId }, requirements);
  if (obstacle !== null || health === null) {
    const lack = obstacle ?? missingEndpoint(region, new Map());
    return refuseInvalid([robotFinding(wanted, `the model ${lack}`)]);
  }
  if (current !== undefined) await retire(transaction, current, time);
  const begun = { status: "preparing", created_at: now, activated_at: null } as const;
  const verdict = judge({ ...begun, isCompatible: true, health }, Date.parse(now));
  const isActive = verdict.status === "active";
  const robotKey = { organization_id: organizationId, robot_id: robotId };
  await transaction
    .insertInto("deployments")
    .values({
      id,
      ...robotKey,
      ...subject,
      region,
      ...begun,
      ...verdict,
      generation_id: wanted.generationId,
      ...(isActive ? { activated_at: now, ...(await beginUsage(transaction, robotKey, time)) } : {}),
    })
    .execute();
  if (!isActive) await bringProbesForward(transaction, checkpointId, now);
  const replacedId = current?.id ?? null;
  const details = { ...subject, robot_id: robotId, replaced_id: replacedId };
  await audit(transaction, author, { action: "deployment.create", subjectId: id, details });
  return { isNew: true, id, replacedId };
}

function robotFinding({ robot }: WantedDeployment, message: string): Finding {
  return { ...ruleBroken(message), loc: ["body", "robot"], input: robot };
}

/** `GET /v1/me/deployments`: the deployments of the organization, oldest first. */
export function listOrganizationDeployments({ store }: OperationContext): Handler<null, DeploymentsQuery> {
  return (call) => {
    const { organizationId } = call.principal;
    const { current = false, robot_id: robotId } = call.query;
    const fetch = (range: PageRange) => listDeployments(store.reader, organizationId, range, { current, robotId });
    return answerList(call, { prefix: "dep", around: ITEMS, fetch, view: deploymentView });
  };
}

/** `GET /v1/me/deployments/{deployment_id}`, and `GET /v1/deployments/{deployment_id}`, which existing clients poll. */
export function getDeployment({ store }: OperationContext): Handler<null> {
  return async ({ principal, path }) =>
    answerView(await findDeployment(store.reader, principal.organizationId, path["deployment_id"] ?? ""));
}

/** `DELETE /v1/me/deployments/{deployment_id}`: retires the deployment. A repeated request changes nothing. */
export function retireDeployment(context: OperationContext): Handler<null> {
  const { newId, machine } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const id = call.path["deployment_id"] ?? "";
    const time = changeTimeNow(context);
    const author = authorship(call, newId, time.now);
    const { changed, view } = await call.write(async (transaction) => {
      const deployment = await lockDeployment(transaction, organizationId, id);
      const isCurrent = deployment !== undefined && deployment.retired_at === null;
      if (isCurrent) {
        await retire(transaction, deployment, time);
        const { robot_id: robotId, status } = deployment;
        await audit(transaction, author, {
          action: "deployment.retire",
          subjectId: id,
          details: { robot_id: robotId, status },
        });
      }
      return { changed: isCurrent, view: await findDeployment(transaction, organizationId, id) };
    });
    if (changed) {
      logChange(machine, "deployment_retired", author, { deployment_id: id });
      context.nudge();
    }
    return answerView(view);
  };
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
  time: ChangeTime,
): Promise<string | null> {
  const deployment = await lockCurrentDeployment(transaction, organizationId, robotId);
  if (deployment === undefined) return null;
  await retire(transaction, deployment, time);
  return deployment.id;
}

/** Retires a deployment. The caller has locked its row. */
export function retire(transaction: Transaction, deployment: DeploymentRow, time: ChangeTime): Promise<void> {
  const { last_error_code: lastErrorCode, region } = deployment;
  return moveDeployment(transaction, deployment, { status: "retired", last_error_code: lastErrorCode, region }, time);
}

function answerView(row: DeploymentViewRow | undefined): Answer {
  return row === undefined ? refuse("NotFound", "Deployment not found") : answerValue(deploymentView(row));
}

/** The view of a deployment. A retired one has no endpoint. */
export function deploymentView(row: DeploymentViewRow): DeploymentView {
  return {
    id: row.id,
    status: row.status,
    model: row.model_slug,
    subject_id: row.checkpoint_id,
    robot: row.robot_name,
    robot_id: row.robot_id,
    region: row.region,
    endpoint_url: row.status === "retired" ? null : row.endpoint_url,
    active_generation_id: row.status === "active" ? row.generation_id : null,
    last_error_code: row.last_error_code,
    created_at: row.created_at,
    activated_at: row.activated_at,
    retired_at: row.retired_at,
    ...warningsOf(row.model_slug, row.warnings),
  };
}
