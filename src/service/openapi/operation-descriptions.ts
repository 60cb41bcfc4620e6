import type { beyondSpec, OperationName } from "../../api/api.ts";
import { HISTORY_SHOWN } from "../../api/registrations.ts";
import { PREPARATION_TIMEOUT_MS } from "../deployments/judge.ts";
import { FLEETS_MAXIMUM } from "../fleets/changes.ts";
import { LINEAGE_DEPTH_MAXIMUM } from "../kernel/auth/lineage.ts";
import { API_KEYS_MAXIMUM } from "../keys/queries.ts";
import { LOGIN_LIFETIME_MS, POLL_INTERVAL_S } from "../logins/rules.ts";

/** What an operation does and is for, and what its answers mean where that is more than their statuses say. */
export interface OperationWords {
  readonly description: string;
  /** By status. There is a 409 only where it is said here. */
  readonly answers: { readonly 200: string } & Readonly<Partial<Record<401 | 403 | 404 | 409 | 422, string>>>;
}

const MINUTE_MS = 60_000;
const WHOLE_LIST = "All of them, or one page, oldest first.";

/** Of every operation under /v1. */
export const OPERATION_DESCRIPTIONS: Readonly<Record<OperationName | keyof typeof beyondSpec, OperationWords>> = {
  setupRobot: {
    description:
      "Registers the robot of this name, or replaces its registration: its id and created_at stay, everything else becomes what this request says, and what it leaves out is gone. Members of fleets stay members; deployments and fleets are judged anew where the type, the region or the contract changed.",
    answers: {
      200: "The robot as it is registered now.",
      403: "The credential lacks the scope robots:setup, or it is a key that is bound to robots of other names.",
      409: "The organization has as many robots as it may, or the key added as many; those that are there may still register again.",
    },
  },
  listRobots: {
    description: "Robots of the organization. Contracts and digests are not shown.",
    answers: { 200: WHOLE_LIST },
  },
  createFleet: {
    description:
      "Takes the robots that the selection names or matches now, 1 to 1000, and creates a fleet of them that works with the subject. Its servers are looked at at once; nothing is deployed, each robot asks for its own deployment.",
    answers: {
      200: "The fleet, which is preparing unless a person has to do something first.",
      409: `A fleet has this name already, or the organization has ${FLEETS_MAXIMUM} fleets.`,
      422: "An input is wrong: also where the catalog has no such subject, a named robot is unknown or named twice, a selector matches none or more than 1000, peak_active_robots is more than the members, or the operating windows overlap, are all past or do not suit the mode.",
    },
  },
  listFleets: {
    description: "Fleets of the organization, each as it is at this moment.",
    answers: { 200: WHOLE_LIST },
  },
  updateFleetModel: {
    description:
      "Begins an update to the subject, in the place of one that is under way. The fleet goes on with what it has until the update's servers were all seen healthy and no robot would lose its model by it; then the update takes its place. Naming what the fleet works with ends the update; naming what it is being updated to changes nothing.",
    answers: {
      200: "The fleet; update tells how far it is.",
      422: "An input is wrong, or the catalog has no such subject.",
    },
  },
  createDeployment: {
    description: `Has a robot run a model: its current deployment is retired in the same moment. Active at once where the server in the robot's region is known to be healthy, else preparing, and active as soon as it is. Asking again for what the robot runs or is about to run answers with that deployment; where it failed, it is tried anew.`,
    answers: {
      200: "The robot's current deployment, new or the one that was there.",
      422: "An input is wrong, the catalog has no such model, there is no such robot, the robot lacks what the model needs, or the model has no endpoint in the robot's region. What the robot runs stays as it was.",
    },
  },
  createApiKey: {
    description:
      "Makes a key, which this answer shows and no other. It ends with the key it is made with, at its expiry and when it is revoked, unless it is made independent; a session makes keys as the key it goes back to. A key with scopes can give no other than its own.",
    answers: {
      200: "The key itself as api_key, and its record.",
      403: "The credential lacks api-keys:write or a scope it wants to give, has scopes and wants to give everything, or may make no independent key.",
      409: `The organization has ${API_KEYS_MAXIMUM.unrestricted} keys that are not revoked, or ${API_KEYS_MAXIMUM.restricted} and the credential has scopes. Or the key would be more than ${LINEAGE_DEPTH_MAXIMUM} keys away from the first that it ends with.`,
      422: "An input is wrong, or expires_at is past.",
    },
  },
  listApiKeys: {
    description: "Records of the organization's keys, revoked and expired ones too, and never the keys themselves.",
    answers: { 200: WHOLE_LIST },
  },
  revokeApiKey: {
    description:
      "From the next request on the key does not work, on any replica, nor do the keys that end with it and the sessions that any of them approved. A key may revoke itself. Once more changes nothing.",
    answers: {
      200: "The record of the key, which has revoked_at.",
      403: "The credential lacks api-keys:write, or the key may do more than the credential.",
    },
  },
  getModel: {
    description: "A model that the catalog offers, with its checkpoints and what each asks of a robot.",
    answers: {
      200: "The model.",
      404: "The catalog has no model of this slug, or has it no more. The id of a checkpoint is no slug.",
    },
  },
  listUsage: {
    description:
      "Periods in which a robot had an active deployment. Each is cut at the full hour (UTC) and when the deployment ends; one that still runs has no period_end, and its quantity is what it has come to so far. The quantities of a robot add up to its time, each second counted once.",
    answers: { 200: WHOLE_LIST },
  },
  getRobot: {
    description: "One robot of the organization.",
    answers: { 200: "The robot." },
  },
  getRegistration: {
    description:
      "Everything the robot registered with last, and when. A robot asks this to see whether the service still holds what it sent.",
    answers: { 200: "The registration." },
  },
  getRobotHistory: {
    description: `Registrations of a robot, from the audit log, which forgets what is older than its retention.`,
    answers: { 200: `Newest first, ${HISTORY_SHOWN.maximum} at most.` },
  },
  listRegistrations: {
    description: "Digests of the organization's robots, and when they last changed, in the order of the robots.",
    answers: { 200: WHOLE_LIST },
  },
  listRefusals: {
    description:
      "Registrations that were refused, by whatever credential of the organization, one that works no more included: requests of the same robot, credential and address that were refused with the same status are one entry, which tells the newest. They appear within seconds and are kept as long as the audit log, the newest 1000 of an organization and 100 of a robot. This list has no pages.",
    answers: { 200: "Newest first." },
  },
  listAudit: {
    description:
      "Who changed what in the organization: keys, fleets, deployments, logins. Registrations are in the history of each robot. The audit log forgets what is older than its retention.",
    answers: { 200: "All of it, or one page, newest first." },
  },
  getFleet: {
    description: "One fleet of the organization, as it is at this moment.",
    answers: { 200: "The fleet." },
  },
  getFleetDetails: {
    description:
      "What the view of a fleet sums up: each member with what keeps it from being ready, the generations of its model, its windows, how its members were chosen, and its servers.",
    answers: { 200: "The fleet as it is at this moment." },
  },
  listFleetNeeds: {
    description:
      "For each fleet of the organization what a person has to see to, and what its waiting robots wait for, in the order of the fleets.",
    answers: { 200: WHOLE_LIST },
  },
  previewFleet: {
    description:
      "Which robots a fleet of this selection would have if it were created now, and with a subject which of them could run it. Creates nothing.",
    answers: {
      200: "The robots, in the order they are named or were registered.",
      422: "An input is wrong: also where the catalog has no such subject, a named robot is unknown or named twice, or a selector matches none or more than 1000.",
    },
  },
  listModels: {
    description: "All models that the catalog offers, oldest first. This list has no pages.",
    answers: { 200: "The models." },
  },
  listEndpoints: {
    description:
      "How the servers of the catalog are, as probes saw them last: every few seconds where a fleet or a deployment needs one, every few minutes else. Where they are is not told.",
    answers: { 200: "All of them, in the order of the catalog." },
  },
  listRegions: {
    description:
      "The region codes that the catalog has inference endpoints in. A robot may register any region, but models serve it only in these.",
    answers: { 200: "In the order of their codes. This list has no pages." },
  },
  listDeployments: {
    description: "Deployments of the organization, retired ones too.",
    answers: { 200: WHOLE_LIST },
  },
  getDeployment: {
    description: `One deployment, as it was last judged; that is done every few seconds. It fails where its server was not healthy within ${PREPARATION_TIMEOUT_MS / MINUTE_MS} minutes, and becomes active by itself once what failed is mended.`,
    answers: { 200: "The deployment." },
  },
  pollDeployment: {
    description: "The same as GET /v1/me/deployments/{deployment_id}.",
    answers: { 200: "The deployment." },
  },
  retireDeployment: {
    description: "Takes the model from the robot, and ends its usage. Once more changes nothing.",
    answers: { 200: "The deployment, which has retired_at and no endpoint_url." },
  },
  summarizeUsage: {
    description:
      "Seconds of robots with an active deployment, by day (UTC), robot, model, or two of them. Periods that run count up to now; those that reach beyond the time asked for count with the part within it. The service sums up one ledger after the other; where too many requests wait for that it answers 503, with Retry-After.",
    answers: { 200: "The sums, by day, then by name, and what they come to." },
  },
  startLogin: {
    description: `Step 1 of a login, called by the program that wants a session. A login that is not taken up within ${LOGIN_LIFETIME_MS / MINUTE_MS} minutes is forgotten.`,
    answers: {
      200: "The login waits for a decision.",
      422: "An input is wrong; callback_url must lie on the program's own computer.",
    },
  },
  pollLogin: {
    description: `Step 4 of a login, called by the program every ${POLL_INTERVAL_S} seconds where no browser can bring it the code. One that comes sooner is told slow_down.`,
    answers: {
      200: "pending or slow_down: wait for interval seconds. complete: token is the session's, and comes this once.",
      401: "There is no such login, the verifier is another, or the login was denied, has expired or was used.",
    },
  },
  exchangeLogin: {
    description: "Step 4 of a login, called by the program with the code that the browser brought to its callback_url.",
    answers: {
      200: "The token of the session, this once.",
      401: "There is no such login, the verifier or the code is another, or the login was denied, has expired or was used.",
    },
  },
  decideLogin: {
    description:
      "Step 3 of a login, called by the page where a person approves it, or by hand; never by the program that logs in. Needs a credential that may do everything: a session, or a key without scopes.",
    answers: {
      200: "The decision is taken; the person's browser is to go to redirect_url, which holds the code.",
      403: "The credential is a key with scopes, and a session may do everything.",
      409: "The login has been decided already.",
      422: "An input is wrong, or no such login is under way.",
    },
  },
  endSession: {
    description: "Logs out: the token of this request does not work any more.",
    answers: {
      200: "The session has ended.",
      403: "The credential is an API key, which is revoked instead.",
    },
  },
  getSession: {
    description: "Tells a credential what it is: whose, what it may do, and until when.",
    answers: { 200: "The credential works." },
  },
  getAccount: {
    description: "Tells which current deployments and working API keys the organization has, the newest of many.",
    answers: { 200: "The organization, and what it has." },
  },
};
