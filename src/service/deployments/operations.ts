import type { DeploymentCreate, DeploymentView } from "../../api/deployments.ts";
import type { PageQuery } from "../../api/wire/pages.ts";
import type { Answer } from "../kernel/http/answers.ts";
import { answerJson, refuse, refuseInvalid } from "../kernel/http/answers.ts";
import { answerList, ITEMS } from "../kernel/lists/answer-list.ts";
import type { Handler, OperationContext } from "../kernel/operation.ts";
import { authorship } from "../kernel/operation.ts";
import { audit } from "../kernel/store/audit.ts";
import type { MeteringContext } from "../usage/index.ts";
import { deploy, retire } from "./changes.ts";
import type { DeploymentViewRow } from "./queries.ts";
import { findDeployment, listDeployments, lockDeployment } from "./queries.ts";

/** `POST /v1/me/deployments`: active at once where the endpoint is known to be healthy. */
export function createDeployment(context: MeteringContext): Handler<DeploymentCreate> {
  const { newId, machine, usageClock } = context;
  return async (call) => {
    const { organization_id: organizationId } = call.principal;
    const now = new Date(machine.clock.wallMs()).toISOString();
    const wish = {
      ...call.body,
      organization_id: organizationId,
      deploymentId: newId("dep"),
      generationId: newId("gen"),
    };
    const moment = { now, usageId: newId("use"), metered: usageClock.now() };
    const author = authorship(call, newId, now);
    const outcome = await call.write(async (transaction) => {
      const deployed = await deploy(transaction, wish, moment, author);
      if (deployed.state === "refused") return { deployed, view: undefined };
      return { deployed, view: await findDeployment(transaction, organizationId, deployed.id) };
    });
    const { deployed, view } = outcome;
    if (deployed.state === "refused") return refuseInvalid(deployed.findings);
    if (deployed.state === "deployed") {
      const { id: deploymentId, replaced_id: replacedId } = deployed;
      const { request_id: requestId } = call;
      machine.log.info("deployment_created", {
        request_id: requestId,
        credential_id: author.actor,
        deployment_id: deploymentId,
        replaced_id: replacedId,
      });
      context.nudge();
    }
    return answerView(view);
  };
}

/** `GET /v1/me/deployments`: every deployment of the organization, retired ones too, oldest first. */
export function listOrganizationDeployments({ store }: OperationContext): Handler<null, PageQuery> {
  return (call) =>
    answerList(call, {
      prefix: "dep",
      around: ITEMS,
      fetch: (range) => listDeployments(store.reader, call.principal.organization_id, range),
      view: deploymentView,
    });
}

/** `GET /v1/me/deployments/{deployment_id}`, and `GET /v1/deployments/{deployment_id}`, where existing clients poll. */
export function getDeployment({ store }: OperationContext): Handler<null> {
  return async ({ principal, path }) =>
    answerView(await findDeployment(store.reader, principal.organization_id, path["deployment_id"] ?? ""));
}

/** `DELETE /v1/me/deployments/{deployment_id}`: takes the model from the robot. Once more changes nothing. */
export function retireDeployment(context: MeteringContext): Handler<null> {
  const { newId, machine, usageClock } = context;
  return async (call) => {
    const { organization_id: organizationId } = call.principal;
    const id = call.path["deployment_id"] ?? "";
    const now = new Date(machine.clock.wallMs()).toISOString();
    const moment = { now, usageId: newId("use"), metered: usageClock.now() };
    const author = authorship(call, newId, now);
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
      const { request_id: requestId } = call;
      machine.log.info("deployment_retired", { request_id: requestId, credential_id: author.actor, deployment_id: id });
      context.nudge();
    }
    return answerView(view);
  };
}

function answerView(row: DeploymentViewRow | undefined): Answer {
  return row === undefined
    ? refuse("NotFound", "Deployment not found")
    : answerJson(JSON.stringify(deploymentView(row)));
}

/** The record of the contract. A retired deployment has no endpoint to go to any more. */
/** A deployment as it is shown. */
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
