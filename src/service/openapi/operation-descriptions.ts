import type { OperationName } from "../../api/api.ts";
import { HISTORY_SHOWN } from "../../api/registrations.ts";
import { ALLOWED_KEYS_MAXIMUM } from "../../api/allowed-keys.ts";
import { WEBHOOKS_MAXIMUM } from "../../api/webhooks.ts";
import { PREPARATION_TIMEOUT_MS } from "../deployments/transition.ts";
import { FLEETS_MAXIMUM } from "../fleets/changes.ts";
import { LINEAGE_DEPTH_MAXIMUM } from "../kernel/auth/lineage.ts";
import { API_KEYS_MAXIMUM } from "../keys/queries.ts";
import { LOGIN_LIFETIME_MS, POLL_INTERVAL_S } from "../logins/rules.ts";

/**
 * What an operation does, and by status what its answers mean where the status alone does not say it. An operation documents a 409 only if
 * it has an entry here.
 */
export interface OperationWords extends Readonly<Partial<Record<401 | 403 | 404 | 409 | 422, string>>> {
  readonly does: string;
  readonly 200: string;
}

const MINUTE_MS = 60_000;
const WHOLE_LIST = "The whole list or one page, oldest first.";

/** One entry for each operation under /v1. */
export const OPERATION_DESCRIPTIONS: Readonly<Record<OperationName, OperationWords>> = {
  setupRobot: {
    does: "Registers a robot, or replaces the registration of the robot with this name. A replacement keeps id and created_at and sets everything else from this request; members that the request omits are cleared. The robot stays a member of its fleets. If its type, region or contract changed, its deployments and fleets are evaluated again. If the robot's computer has a credential of its own, a setup by anyone else replaces that computer: its credential ends.",
    200: "The registered robot.",
    403: "The credential lacks the scope robots:setup, or it is a key that is restricted to other robot names, or it would replace the computer of a robot and lacks robots:write.",
    409: "The robot is online with a credential of its own, and confirm_replace is not true (reason robot_online). Or the organization has reached its limit of robots, or the key its limit of new robots. Existing robots can still register again.",
  },
  listRobots: {
    does: "Lists the robots of the organization, without their contracts and digests. presence tells whether the computer of an enrolled robot reports, and whether the robot can register; last_seen_at may be half a minute behind.",
    200: WHOLE_LIST,
  },
  createFleet: {
    does: "Creates a fleet that uses the subject, from the 1 to 1000 robots that the selection names or matches now. The service immediately starts to probe the endpoints that the fleet needs. It deploys nothing: each robot requests its own deployment.",
    200: "The new fleet. Its status is preparing, or blocked if a person has to do something first.",
    409: `A fleet with this name exists, or the organization already has ${FLEETS_MAXIMUM} fleets.`,
    422: "An input is invalid. This includes a subject that is not in the catalog, a robot that does not exist or is named twice, a selector that matches no robot or more than 1000, a peak_active_robots above the number of members, and operating windows that overlap, are all in the past or do not suit the readiness mode.",
  },
  listFleets: { does: "Lists the fleets of the organization with their current status.", 200: WHOLE_LIST },
  updateFleetModel: {
    does: "Starts an update of the fleet to the subject, and replaces an update in progress. The fleet keeps its active model until all endpoints of the update have been healthy and no robot would lose its model; then the update becomes the active model. Naming the active subject cancels the update; naming the subject of the update in progress changes nothing.",
    200: "The fleet; its member update shows the progress.",
    422: "An input is invalid, or the subject is not in the catalog.",
  },
  createDeployment: {
    does: "Deploys a model to a robot and retires the robot's current deployment in the same transaction. The deployment is active immediately if the endpoint in the robot's region is known to be healthy; otherwise it is preparing until the endpoint is healthy. If the robot's current deployment already is of this model, the answer is that deployment; a failed one is retried.",
    200: "The robot's current deployment, new or existing.",
    422: "An input is invalid, the model is not in the catalog, the robot does not exist, the robot does not meet the model's requirements, or the model has no endpoint in the robot's region. The robot's current deployment does not change.",
  },
  createApiKey: {
    does: "Creates a key. Only this answer contains the key itself. Unless it is created as independent, the new key stops working when the key that created it expires or is revoked; for a session, that is the key with which the session was created. A key with scopes can grant only its own scopes.",
    200: "The record of the key, and the key itself as api_key.",
    403: "The credential lacks api-keys:write or a scope that the new key requests, is restricted but requests an unrestricted key, or may not create an independent key.",
    409: `The organization has ${API_KEYS_MAXIMUM.unrestricted} keys that are not revoked, or ${API_KEYS_MAXIMUM.restricted} if the credential has scopes. Or the chain of keys that depend on each other would be longer than ${LINEAGE_DEPTH_MAXIMUM}.`,
    422: "An input is invalid, or expires_at is in the past.",
  },
  listApiKeys: {
    does: "Lists the records of the organization's keys, including revoked and expired ones, never the keys themselves.",
    200: WHOLE_LIST,
  },
  revokeApiKey: {
    does: "Revokes a key, the keys that depend on it and the sessions that any of them approved, on every replica from the next request on. A key may revoke itself. Revoking a revoked key changes nothing.",
    200: "The record of the key, with revoked_at.",
    403: "The credential lacks api-keys:write, or the key has more rights than the credential.",
  },
  getModel: {
    does: "Returns a model of the catalog, with its checkpoints and what each requires of a robot.",
    200: "The model.",
    404: "The catalog has no model with this slug, or no longer has it. The id of a checkpoint is not accepted as a slug.",
  },
  listUsage: {
    does: "Lists the periods in which robots had an active deployment. A period ends at each full hour (UTC) and when the deployment ends. A period that is still running has no period_end, and its quantity is the time up to now. The quantities of a robot add up to its total time; each second is counted once.",
    200: WHOLE_LIST,
  },
  getRobot: { does: "Returns one robot of the organization.", 200: "The robot." },
  getRegistration: {
    does: "Returns everything in the robot's last registration, and its time. A robot uses this to check whether the service still has what it sent.",
    200: "The registration.",
  },
  getRobotHistory: {
    does: "Lists the registrations of a robot, from the audit log. Entries older than the retention period of the log are deleted.",
    200: `At most ${HISTORY_SHOWN.maximum}, newest first.`,
  },
  removeRobot: {
    does: "Removes a robot: its computer loses its credential, its current deployment is retired, and its name is free for another robot. Fleets keep it as a blocked member; its usage stays, as does its history, at its id.",
    200: "The robot, and when it was removed.",
  },
  renameRobot: {
    does: "Gives a robot another name. Its id, the computer that speaks for it, its deployments and its fleets stay. Its agent needs the new name, too: a computer registers only under the name of its robot. Keys that are restricted to robot names are not changed.",
    200: "The robot.",
    409: "Another robot has this name.",
  },
  startEnrolment: {
    does: "A computer asks for a credential of its own, without one or with a key for enrolments. Each start has a new code, which an operator approves within ten minutes; a start ends the one before with the same key. With a key for enrolments, a new robot needs no operator; an enrolment under the name of an existing robot does.",
    200: "The code to show, and poll_token, the secret of this computer, which only this answer contains. With a key for enrolments, reason name_exists: a robot has the name, so a person decides.",
    401: "A credential was sent that is not valid. None is needed.",
    403: "The credential is no key for enrolments, or it is used up (reason uses_spent).",
    409: "The public key is that of a computer that is enrolled (reason key_in_use), or the organization of the key has reached its limit of robots.",
    422: "An input is invalid. With a key for enrolments this includes a name that no robot can have, and a region that neither the computer nor the key gives.",
  },
  pollEnrolment: {
    does: "Tells the computer that started an enrolment what became of it. The first poll after the approval makes its installation, and ends that of an older computer of the robot. Until the credential is used, a poll answers with a fresh value: an answer may be lost.",
    200: "The status. Only with approved: the robot, and the credential as installation_token with its terms.",
    404: "No such enrolment, or the token or the signature is wrong. Enrolments are kept for a day after their end.",
  },
  approveEnrolment: {
    does: "Approves the enrolment of a computer by its code. The robot gets the name, region and site of the request, else those that the computer sent, and its labels laid over the computer's. An existing robot of that name keeps its id; its computer is replaced when the new one polls.",
    200: "The robot as decided, and the type that the robot has. The same approval again has the same answer.",
    403: "The credential lacks the scope robots:write, or it is a key that is restricted to other robot names.",
    404: "No enrolment waits with this code, or it is another organization's.",
    409: "The robot is online on another computer, and confirm_replace is not true (reason robot_online); the code was approved with other values (reason already_approved); or the organization or the key has reached its limit of robots.",
    422: "An input is invalid, no robot can have this name, or neither the request nor the computer names a region. The enrolment still waits.",
  },
  denyEnrolment: {
    does: "Denies the enrolment of a computer by its code; also after its approval, until the computer has polled for its credential.",
    200: "The enrolment ended.",
    404: "No enrolment waits with this code, or it is another organization's.",
  },
  listEnrolments: {
    does: "Lists the waiting enrolments that name the organization, each with the robot that already has its name. If the service has only this organization, also those that name none.",
    200: "At most 1000, newest first.",
  },
  getEnrolment: {
    does: "Returns a waiting enrolment by its code, so that an operator sees who asks before approving it.",
    200: "The enrolment.",
    404: "No enrolment waits with this code, or it is another organization's.",
  },
  heartbeat: {
    does: "A robot reports, with its own credential, that it is alive and whether it can work. runtime_version and manifest_digest keep their last value if they are absent. The report is in the robot's view at once on this replica, and on others within seconds.",
    200: "When the report arrived, and the terms of the credential. renew_after_s counts down to the time at which the robot should renew.",
    403: "The credential is not a robot's own, or the installation is frozen because its key is in use on two computers.",
  },
  renewCredential: {
    does: "Issues the next credential of a robot's computer, which signs the request with the key that it enrolled. Also works for some time after the credential expired. The old credential works for ten more minutes, or until the new one is used.",
    200: "The new credential as installation_token, which only this answer contains, and its terms.",
    401: "No computer enrolled with this key, or the signature is wrong; reason is proof_invalid. The robot must enroll again.",
    403: "The installation is frozen, or its credential expired too long ago or too often; reason says which. An operator can allow it again.",
    409: "The nonce was used before.",
  },
  claimRun: {
    does: "Existing agents ask for work here. This service has none, and tells them to ask again in ten seconds.",
    200: "No work.",
  },
  getInstallation: {
    does: "Returns the computer that speaks for a robot, or the last one that did: its key, the state of its credential, and its last report.",
    200: "The installation.",
    404: "There is no such robot, or it was never enrolled.",
  },
  changeInstallation: {
    does: "Lets a frozen robot work again after a false alarm, or allows a robot that was away for too long to renew its credential. Neither needs anything on the robot.",
    200: "The installation.",
    409: "The installation was revoked.",
  },
  listRegistrations: {
    does: "Lists the configuration digest of each robot of the organization and when its registration last changed, in the order of the robots.",
    200: WHOLE_LIST,
  },
  listRefusals: {
    does: "Lists refused registrations that were sent with a credential of the organization, including a credential that no longer works. Requests with the same robot, credential, address and status share one entry, which describes the newest of them. Entries appear within seconds and are kept as long as the audit log, but at most the newest 1000 of an organization and 100 of a robot. This list has no pages.",
    200: "Newest first.",
  },
  listAudit: {
    does: "Lists who changed what in the organization: keys, fleets, deployments, logins. Registrations are in the history of each robot. Entries older than the retention period of the audit log are deleted.",
    200: "The whole list or one page, newest first.",
  },
  getFleet: { does: "Returns one fleet of the organization with its current status.", 200: "The fleet." },
  removeFleet: {
    does: "Deletes a fleet. Its robots and their deployments stay, the service keeps no more capacity for it, and its name is free. Its changes stay in the audit log.",
    200: "The fleet, and when it was deleted.",
  },
  getFleetDetails: {
    does: "Returns what the fleet view summarizes: each member and why it is not ready, the generations of the fleet's model, the operating windows, how the members were selected, and the endpoints.",
    200: "The current details of the fleet.",
  },
  listFleetNeeds: {
    does: "Lists, for each fleet of the organization, what needs attention and what its waiting robots wait for, in the order of the fleets.",
    200: WHOLE_LIST,
  },
  previewFleet: {
    does: "Shows which robots a fleet with this selection would have if it were created now and, if a subject is given, which of them could run it. Creates nothing.",
    200: "The robots, in the order of the request for named robots, otherwise in the order of registration.",
    422: "An input is invalid. This includes a subject that is not in the catalog, a robot that does not exist or is named twice, and a selector that matches no robot or more than 1000.",
  },
  listModels: { does: "Lists all models of the catalog, oldest first. This list has no pages.", 200: "The models." },
  listEndpoints: {
    does: "Lists the health of the catalog's endpoints according to the last probe of each. An endpoint is probed every few seconds while a fleet or a deployment needs it, otherwise every few minutes. The list does not contain their URLs.",
    200: "All endpoints, in the order of the catalog.",
  },
  listRegions: {
    does: "Lists the codes of the regions in which the catalog has inference endpoints. A robot may register any region, but models serve it only in these. Needs no credential, so that a computer can check its region before it enrolls.",
    200: "The region codes, sorted. This list has no pages.",
  },
  listDeployments: {
    does: "Lists the deployments of the organization, also retired ones unless current is true.",
    200: WHOLE_LIST,
  },
  getDeployment: {
    does: `Returns one deployment. Its status is evaluated every few seconds. A deployment fails if its endpoint does not become healthy within ${PREPARATION_TIMEOUT_MS / MINUTE_MS} minutes, and becomes active by itself once the cause of the failure is fixed.`,
    200: "The deployment.",
  },
  pollDeployment: { does: "The same as GET /v1/me/deployments/{deployment_id}.", 200: "The deployment." },
  retireDeployment: {
    does: "Retires a deployment and ends its usage period. Retiring a retired deployment changes nothing.",
    200: "The deployment, with retired_at and without endpoint_url.",
  },
  summarizeUsage: {
    does: "Sums up the seconds in which robots had an active deployment, by day (UTC), robot, model, or two of these. A period that is still running counts up to now; a period that is partly outside the requested time counts only with the part inside. The service computes one summary at a time; if too many requests are waiting, it answers 503 with Retry-After.",
    200: "The sums, sorted by day, then by name, and their total.",
  },
  allowKeys: {
    does: "Lets computers enroll without a person's approval, each once, by a list of their public keys or fingerprints. A computer still waits for a person if its name is that of a robot or none that a robot can have, if it names no region, if it names no organization and the service has several, or if it was allowed with an API key that has expired. A key that is already on the list may be used once more.",
    200: "How many keys were added; a key that is given twice counts once.",
    403: "The credential lacks the scope robots:write, or it is a key that is restricted to some robots.",
    409: `The organization would have more than ${ALLOWED_KEYS_MAXIMUM} allowed keys.`,
    422: "An input is invalid. This includes a text that is neither a public key nor a fingerprint.",
  },
  listAllowedKeys: {
    does: "Lists the allowed keys, also used ones, until a day after they expire: who allowed each, and when it was used.",
    200: WHOLE_LIST,
  },
  removeAllowedKey: {
    does: "Takes a key off the list. A computer that enrolled with it keeps its credential.",
    200: "The key is off the list.",
  },
  createWebhook: {
    does: "Has the service send events by POST, signed as the Standard Webhooks specification says. A webhook is sent what happens from its creation on, and from when it is enabled again; a robot that keeps coming and going causes at most one a minute. An event is sent at least once; its id, in the header webhook-id, is the same each time. A receiver answers 2xx within 15 seconds; otherwise the service tries again, up to 8 attempts in about 28 hours. An answer of 410 disables the webhook. Only this answer contains the secret that verifies the signatures.",
    200: "The webhook, and its secret.",
    409: `The organization has ${WEBHOOKS_MAXIMUM} webhooks.`,
    422: "An input is invalid. This includes a URL that is not https, or that names an address that is not public, unless the configuration of the service allows it.",
  },
  listWebhooks: {
    does: "Lists the webhooks of the organization, also disabled ones, never their secrets.",
    200: WHOLE_LIST,
  },
  getWebhook: { does: "Shows a webhook, never its secret.", 200: "The webhook." },
  changeWebhook: {
    does: "Changes where a webhook sends and of what, disables it, or enables it again. What is absent stays, and so does the secret.",
    200: "The webhook after the change.",
    422: "An input is invalid. This includes a URL that creating a webhook refuses.",
  },
  deleteWebhook: {
    does: "Deletes a webhook, with what it was sent and what was still to be sent.",
    200: "The webhook is deleted. A request that is under way may still arrive.",
  },
  listDeliveries: {
    does: "Lists the events of the last 30 days for a webhook, and what became of each.",
    200: "The whole list or one page, newest first.",
  },
  getDelivery: {
    does: "Shows an event of the last 30 days for a webhook, and what became of it.",
    200: "The delivery.",
  },
  resendDelivery: {
    does: "Sends an event again under the same id, with as many attempts as for a new one.",
    200: "The delivery, now pending.",
    409: "The webhook is disabled.",
  },
  testWebhook: {
    does: "Sends an event of the type webhook.test to a webhook, whatever events it is for.",
    200: "The delivery; the list of deliveries shows what becomes of it.",
    409: "The webhook is disabled, or too many events already wait for it.",
  },
  startLogin: {
    does: `Step 1 of a login, called by the program that wants a session. A login that is not completed within ${LOGIN_LIFETIME_MS / MINUTE_MS} minutes expires.`,
    200: "The login waits for a decision.",
    422: "An input is invalid; callback_url must be a loopback address.",
  },
  pollLogin: {
    does: `Step 4 of a login, called by the program every ${POLL_INTERVAL_S} seconds if no browser can reach its callback_url. A program that polls more often is answered slow_down.`,
    200: "pending or slow_down: wait interval seconds before the next poll. complete: token is the session token; it is returned only once.",
    401: "The login does not exist, the verifier does not match, or the login was denied, has expired or was used.",
  },
  exchangeLogin: {
    does: "Step 4 of a login, called by the program with the code that the browser sent to its callback_url.",
    200: "The session token; it is returned only once.",
    401: "The login does not exist, the verifier or the code does not match, or the login was denied, has expired or was used.",
  },
  decideLogin: {
    does: "Step 3 of a login, called by the page on which a person approves it, or by hand; never by the program that logs in. Needs an unrestricted credential: a session, or a key without scopes.",
    200: "The decision is recorded. The person's browser must go to redirect_url, which contains the code if the login was approved.",
    403: "The credential is a key with scopes; it cannot approve a session, which is unrestricted.",
    409: "The login has already been approved or denied.",
    422: "An input is invalid, or no such login is pending.",
  },
  endSession: {
    does: "Logs out: the token of this request stops working.",
    200: "The session has ended.",
    403: "The credential is an API key. To end a key, revoke it.",
  },
  getSession: {
    does: "Describes the credential of this request: its organization, its scopes and its expiry.",
    200: "The credential works.",
  },
  getAccount: {
    does: "Lists the newest current deployments and working API keys of the organization.",
    200: "The organization, its deployments and its keys.",
  },
};
