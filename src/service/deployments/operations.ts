import type { DeploymentCreate, DeploymentsQuery, DeploymentView } from "../../api/deployments.ts";
import { type Answer, answerValue, isAnswer, refuse } from "../kernel/http/answers.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { PageRange } from "../kernel/lists/pages.ts";
import { authorship, type Handler, logChange, type OperationContext } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import { momentNow } from "./transition.ts";
import { deploy, retire } from "./changes.ts";
import { type DeploymentViewRow, findDeployment, listDeployments, lockDeployment } from "./queries.ts";

/** `POST /v1/me/deployments`: the deployment is active immediately if its endpoint is healthy. */
export function createDeployment(context: OperationContext): Handler<DeploymentCreate> {
  const { newId, machine } = context;
  return async (call) => {
    const { organizationId } = call.principal;
    const moment = momentNow(context);
    const wanted = {
      ...call.body,
      organization_id: organizationId,
      deploymentId: newId("dep"),
      generationId: newId("gen"),
    };
    const author = authorship(call, newId, moment.now);
    const outcome = await call.write(async (transaction) => {
      const deployed = await deploy(transaction, wanted, moment, author);
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
    const moment = momentNow(context);
    const author = authorship(call, newId, moment.now);
    const { changed, view } = await call.write(async (transaction) => {
      const deployment = await lockDeployment(transaction, organizationId, id);
      const isCurrent = deployment !== undefined && deployment.retired_at === null;
      if (isCurrent) {
        await retire(transaction, deployment, moment);
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
  };
}
