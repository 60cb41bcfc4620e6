/**
 * The /v1 wire contract between the three programs, as zod schemas, without any I/O.
 *
 * Each resource has a file with its bodies, views, limits and operations (robots.ts with registrations.ts, contract.ts and
 * robot-views.ts; enrolments.ts and installations.ts for robots with a credential of their own; fleets.ts with fleet-details.ts; models.ts, endpoints.ts, deployments.ts, keys.ts, usage.ts, logins.ts, account.ts,
 * audit.ts, webhooks.ts). wire/ has what they share: what an operation is, the query of lists, the bodies of refusals, the bounds of texts. This file is
 * the table of all operations; words/ is what several programs say of answers. The service validates, answers and describes itself from
 * these tables; clients build requests and decode answers with them. A robot computer loads robot-terms.ts, robot-views.ts and
 * wire/errors.ts alone.
 */
import { getAccount } from "./account.ts";
import { listAudit } from "./audit.ts";
import { createDeployment, getDeployment, listDeployments, pollDeployment, retireDeployment } from "./deployments.ts";
import { getFleetDifferences, getRobotDifferences, putRegistrationParts, putSharedContent } from "./differences.ts";
import { listEndpoints, listRegions } from "./endpoints.ts";
import {
  approveEnrolment,
  denyEnrolment,
  getEnrolment,
  listEnrolments,
  pollEnrolment,
  startEnrolment,
} from "./enrolments.ts";
import { getFleetDetails, listFleetNeeds, previewFleet, previewReconcile } from "./fleet-details.ts";
import { createFleet, getFleet, listFleets, reconcileFleet, removeFleet, updateFleetModel } from "./fleets.ts";
import { changeInstallation, claimRun, getInstallation, heartbeat, renewCredential } from "./installations.ts";
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from "./keys.ts";
import { decideLogin, endSession, exchangeLogin, getSession, pollLogin, startLogin } from "./logins.ts";
import { getModel, listModels } from "./models.ts";
import { getRegistration, getRobotHistory, listRegistrations } from "./registrations.ts";
import { getRobot, listRobots, removeRobot, renameRobot, setupRobot } from "./robots.ts";
import { listUsage, summarizeUsage } from "./usage.ts";
import { createWebhook, deleteWebhook, listWebhooks, rotateWebhook, testWebhook } from "./webhooks.ts";
import type { Operation } from "./wire/operation.ts";

/** The operations of the service document, section 4. */
export const operations = {
  setupRobot,
  listRobots,
  createFleet,
  listFleets,
  updateFleetModel,
  createDeployment,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  getModel,
  listUsage,
} as const satisfies Record<string, Operation>;

/** Operations that the service document does not have; the hosted service may lack any of them. */
export const beyondSpec = {
  getRobot,
  getRegistration,
  getRobotHistory,
  putRegistrationParts,
  putSharedContent,
  getRobotDifferences,
  removeRobot,
  renameRobot,
  heartbeat,
  renewCredential,
  claimRun,
  getInstallation,
  changeInstallation,
  listRegistrations,
  listAudit,
  getFleet,
  previewReconcile,
  reconcileFleet,
  removeFleet,
  getFleetDetails,
  getFleetDifferences,
  listFleetNeeds,
  previewFleet,
  listModels,
  listEndpoints,
  listRegions,
  listDeployments,
  getDeployment,
  pollDeployment,
  retireDeployment,
  summarizeUsage,
  startEnrolment,
  pollEnrolment,
  approveEnrolment,
  denyEnrolment,
  listEnrolments,
  getEnrolment,
  rotateApiKey,
  createWebhook,
  listWebhooks,
  testWebhook,
  rotateWebhook,
  deleteWebhook,
  startLogin,
  pollLogin,
  exchangeLogin,
  decideLogin,
  endSession,
  getSession,
  getAccount,
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations | keyof typeof beyondSpec;

/** All operations by name. */
export const allOperations: Readonly<Record<OperationName, Operation>> = { ...operations, ...beyondSpec };
