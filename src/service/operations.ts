import type { FastifyInstance } from "fastify";

import { beyondSpec, operations } from "../api/api.ts";
import { getAccount } from "./account/operations.ts";
import { listOrganizationAudit } from "./audit/operations.ts";
import {
  createDeployment,
  getDeployment,
  listOrganizationDeployments,
  retireDeployment,
} from "./deployments/operations.ts";
import { listEndpointRegions, listEndpoints } from "./endpoints/operations.ts";
import { getFleetDetails } from "./fleets/details-operation.ts";
import { createFleet, getFleet, listFleetNeeds, listFleets, updateFleetModel } from "./fleets/operations.ts";
import { previewFleet } from "./fleets/preview.ts";
import { mount, mountPublic, mountWithBody, mountWithQuery } from "./kernel/http/mount.ts";
import type { MountContext } from "./kernel/http/mount.ts";
import { createOrganizationKey, listOrganizationKeys, revokeOrganizationKey } from "./keys/operations.ts";
import { decideLogin, exchangeLogin, pollLogin, startLogin } from "./logins/operations.ts";
import { endOwnSession, getSession } from "./logins/session-operations.ts";
import { getModel, listCatalogModels } from "./models/operations.ts";
import { getRegistration, getRobotHistory, listOrganizationRegistrations } from "./robots/history-operations.ts";
import { getRobot, listOrganizationRobots, setupRobot } from "./robots/operations.ts";
import type { SetupLimits } from "./robots/operations.ts";
import { listOrganizationRefusals } from "./robots/refusal-operations.ts";
import type { Refusals } from "./robots/refusals.ts";
import { noteRefusedSetup } from "./robots/refused-setup.ts";
import type { MeteringContext } from "./usage/clock.ts";
import { listOrganizationUsage } from "./usage/operations.ts";
import { summarizeUsage } from "./usage/summary.ts";

/** What the operations need. */
export interface OperationsContext extends MountContext, MeteringContext {
  readonly refusals: Pick<Refusals, "note">;
}

/** Mounts every operation of the contract with its handler. */
export function mountOperations(app: FastifyInstance, context: OperationsContext, limits: SetupLimits): void {
  mountWithBody(app, context, operations.setupRobot, setupRobot(context, limits), (request, refused) =>
    noteRefusedSetup(context.refusals, request, refused),
  );
  mountWithQuery(app, context, operations.listRobots, listOrganizationRobots(context));
  mount(app, context, beyondSpec.getRobot, getRobot(context));
  mount(app, context, beyondSpec.getRegistration, getRegistration(context));
  mount(app, context, beyondSpec.getRobotHistory, getRobotHistory(context));
  mountWithQuery(app, context, beyondSpec.listRefusals, listOrganizationRefusals(context));
  mountWithQuery(app, context, beyondSpec.listAudit, listOrganizationAudit(context));
  mountWithQuery(app, context, beyondSpec.listRegistrations, listOrganizationRegistrations(context));
  mount(app, context, operations.getModel, getModel(context));
  mount(app, context, beyondSpec.listModels, listCatalogModels(context));
  mount(app, context, beyondSpec.listEndpoints, listEndpoints(context));
  mount(app, context, beyondSpec.listRegions, listEndpointRegions(context));
  mountWithBody(app, context, operations.createApiKey, createOrganizationKey(context));
  mountWithQuery(app, context, operations.listApiKeys, listOrganizationKeys(context));
  mount(app, context, operations.revokeApiKey, revokeOrganizationKey(context));
  mountWithBody(app, context, operations.createDeployment, createDeployment(context));
  mountWithQuery(app, context, beyondSpec.listDeployments, listOrganizationDeployments(context));
  mount(app, context, beyondSpec.getDeployment, getDeployment(context));
  mount(app, context, beyondSpec.pollDeployment, getDeployment(context));
  mount(app, context, beyondSpec.retireDeployment, retireDeployment(context));
  mountWithQuery(app, context, operations.listUsage, listOrganizationUsage(context));
  mountWithQuery(app, context, beyondSpec.summarizeUsage, summarizeUsage(context));
  mountPublic(app, context, beyondSpec.startLogin, startLogin(context));
  mountPublic(app, context, beyondSpec.pollLogin, pollLogin(context));
  mountPublic(app, context, beyondSpec.exchangeLogin, exchangeLogin(context));
  mountWithBody(app, context, beyondSpec.decideLogin, decideLogin(context));
  mount(app, context, beyondSpec.endSession, endOwnSession(context));
  mount(app, context, beyondSpec.getSession, getSession(context));
  mount(app, context, beyondSpec.getAccount, getAccount(context));
  mountWithBody(app, context, operations.createFleet, createFleet(context));
  mountWithQuery(app, context, operations.listFleets, listFleets(context));
  mount(app, context, beyondSpec.getFleet, getFleet(context));
  mount(app, context, beyondSpec.getFleetDetails, getFleetDetails(context));
  mountWithQuery(app, context, beyondSpec.listFleetNeeds, listFleetNeeds(context));
  mountWithBody(app, context, beyondSpec.previewFleet, previewFleet(context));
  mountWithBody(app, context, operations.updateFleetModel, updateFleetModel(context));
}
