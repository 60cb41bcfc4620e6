import type { FastifyInstance } from "fastify";

import { beyondSpec, operations } from "../api/api.ts";
import { getAccount } from "./organizations/account.ts";
import { listOrganizationAudit } from "./audit/audit.ts";
import {
  createDeployment,
  getDeployment,
  listOrganizationDeployments,
  retireDeployment,
} from "./deployments/operations.ts";
import {
  approveEnrolment,
  createCodeLookUp,
  denyEnrolment,
  getEnrolment,
  listEnrolments,
} from "./identity/approval.ts";
import { pollEnrolment } from "./identity/poll.ts";
import { startEnrolment } from "./identity/start.ts";
import { getFleetDifferences } from "./fleets/differences.ts";
import { getFleetDetails } from "./fleets/details.ts";
import {
  createFleet,
  getFleet,
  listFleetNeeds,
  listFleets,
  removeFleet,
  updateFleetModel,
} from "./fleets/operations.ts";
import { previewFleet } from "./fleets/selection.ts";
import { previewReconcile, reconcileFleet } from "./fleets/reconcile.ts";
import { type InstallationContext, renewCredential } from "./identity/robot-credentials.ts";
import { changeInstallation, claimRun, getInstallation, heartbeat } from "./identity/installation-operations.ts";
import { mount, type MountContext, mountOpen, mountWithBody, mountWithQuery, route } from "./kernel/http/mount.ts";
import {
  createOrganizationKey,
  listOrganizationKeys,
  revokeOrganizationKey,
  rotateOrganizationKey,
} from "./keys/operations.ts";
import { decideLogin, exchangeLogin, pollLogin, startLogin } from "./logins/logins.ts";
import { endOwnSession, getSession } from "./logins/sessions.ts";
import { getModel, listCatalogModels, listEndpointRegions, listEndpoints } from "./models/operations.ts";
import { getRegistration, listOrganizationRegistrations } from "./robots/registrations.ts";
import { getRobotDifferences, getRobotHistory } from "./robots/differences.ts";
import { putRegistrationParts, putSharedContent } from "./robots/parts.ts";
import { type RobotLimits, RobotQuota } from "./robots/quota.ts";
import { setupRobot } from "./robots/setup.ts";
import { noteRefusedSetup, type Refusals } from "./robots/refusals.ts";
import { removeRobot, renameRobot } from "./robots/changes.ts";
import { getRobot, listOrganizationRobots } from "./robots/views.ts";
import type { OperationContext } from "./kernel/operation.ts";
import { listOrganizationUsage } from "./usage/usage.ts";
import { summarizeUsage } from "./usage/summary.ts";
import {
  createOrganizationWebhook,
  deleteOrganizationWebhook,
  listOrganizationWebhooks,
  rotateWebhookSecret,
  testOrganizationWebhook,
  type WebhooksContext,
} from "./webhooks/operations.ts";

export interface OperationsContext extends MountContext, OperationContext, InstallationContext, WebhooksContext {
  readonly refusals: Pick<Refusals, "note">;
}

/** Mounts every operation of the contract with its handler. */
export function mountOperations(app: FastifyInstance, context: OperationsContext, robots: RobotLimits): void {
  const quota = new RobotQuota(context.store.reader, robots, context.machine.clock);
  mountWithBody(app, context, operations.setupRobot, setupRobot(context, quota), (request, refused) =>
    noteRefusedSetup(context.refusals, context.machine, request, refused),
  );
  mountWithQuery(app, context, operations.listRobots, listOrganizationRobots(context));
  mount(app, context, beyondSpec.getRobot, getRobot(context));
  mount(app, context, beyondSpec.getRegistration, getRegistration(context));
  mount(app, context, beyondSpec.getRobotHistory, getRobotHistory(context));
  mountWithBody(app, context, beyondSpec.putRegistrationParts, putRegistrationParts(context));
  mountWithBody(app, context, beyondSpec.putSharedContent, putSharedContent(context));
  mountWithQuery(app, context, beyondSpec.getRobotDifferences, getRobotDifferences(context));
  mount(app, context, beyondSpec.removeRobot, removeRobot(context));
  mountWithBody(app, context, beyondSpec.renameRobot, renameRobot(context));
  mountWithBody(app, context, beyondSpec.heartbeat, heartbeat(context));
  mountOpen(app, context, beyondSpec.renewCredential, renewCredential(context));
  mountOpen(app, context, beyondSpec.claimRun, claimRun());
  mount(app, context, beyondSpec.getInstallation, getInstallation(context));
  mountWithBody(app, context, beyondSpec.changeInstallation, changeInstallation(context));
  mountWithQuery(app, context, beyondSpec.listAudit, listOrganizationAudit(context));
  mountWithQuery(app, context, beyondSpec.listRegistrations, listOrganizationRegistrations(context));
  mount(app, context, operations.getModel, getModel(context));
  mount(app, context, beyondSpec.listModels, listCatalogModels(context));
  mount(app, context, beyondSpec.listEndpoints, listEndpoints(context));
  route(app, context, beyondSpec.listRegions, listEndpointRegions(context));
  mountWithBody(app, context, operations.createApiKey, createOrganizationKey(context));
  mountWithQuery(app, context, operations.listApiKeys, listOrganizationKeys(context));
  mount(app, context, operations.revokeApiKey, revokeOrganizationKey(context));
  mountWithBody(app, context, beyondSpec.rotateApiKey, rotateOrganizationKey(context));
  mountWithBody(app, context, operations.createDeployment, createDeployment(context));
  mountWithQuery(app, context, beyondSpec.listDeployments, listOrganizationDeployments(context));
  mount(app, context, beyondSpec.getDeployment, getDeployment(context));
  mount(app, context, beyondSpec.pollDeployment, getDeployment(context));
  mount(app, context, beyondSpec.retireDeployment, retireDeployment(context));
  mountWithQuery(app, context, operations.listUsage, listOrganizationUsage(context));
  mountWithQuery(app, context, beyondSpec.summarizeUsage, summarizeUsage(context));
  const lookUp = createCodeLookUp(context);
  mountOpen(app, context, beyondSpec.startEnrolment, startEnrolment(context, quota));
  mountOpen(app, context, beyondSpec.pollEnrolment, pollEnrolment(context));
  mountWithBody(app, context, beyondSpec.approveEnrolment, approveEnrolment(context, quota, lookUp));
  mountWithBody(app, context, beyondSpec.denyEnrolment, denyEnrolment(context, lookUp));
  mount(app, context, beyondSpec.listEnrolments, listEnrolments(context));
  mount(app, context, beyondSpec.getEnrolment, getEnrolment(context, lookUp));
  mountWithBody(app, context, beyondSpec.createWebhook, createOrganizationWebhook(context));
  mountWithQuery(app, context, beyondSpec.listWebhooks, listOrganizationWebhooks(context));
  mount(app, context, beyondSpec.testWebhook, testOrganizationWebhook(context));
  mount(app, context, beyondSpec.rotateWebhook, rotateWebhookSecret(context));
  mount(app, context, beyondSpec.deleteWebhook, deleteOrganizationWebhook(context));
  mountOpen(app, context, beyondSpec.startLogin, startLogin(context));
  mountOpen(app, context, beyondSpec.pollLogin, pollLogin(context));
  mountOpen(app, context, beyondSpec.exchangeLogin, exchangeLogin(context));
  mountWithBody(app, context, beyondSpec.decideLogin, decideLogin(context));
  mount(app, context, beyondSpec.endSession, endOwnSession(context));
  mount(app, context, beyondSpec.getSession, getSession(context));
  mount(app, context, beyondSpec.getAccount, getAccount(context));
  mountWithBody(app, context, operations.createFleet, createFleet(context));
  mountWithQuery(app, context, operations.listFleets, listFleets(context));
  mount(app, context, beyondSpec.getFleet, getFleet(context));
  mount(app, context, beyondSpec.previewReconcile, previewReconcile(context));
  mount(app, context, beyondSpec.reconcileFleet, reconcileFleet(context));
  mount(app, context, beyondSpec.removeFleet, removeFleet(context));
  mount(app, context, beyondSpec.getFleetDetails, getFleetDetails(context));
  mount(app, context, beyondSpec.getFleetDifferences, getFleetDifferences(context));
  mountWithQuery(app, context, beyondSpec.listFleetNeeds, listFleetNeeds(context));
  mountWithBody(app, context, beyondSpec.previewFleet, previewFleet(context));
  mountWithBody(app, context, operations.updateFleetModel, updateFleetModel(context));
}
