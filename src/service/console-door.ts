/** The interface of the service for the console's server: src/console/server imports only from here. */
export {
  countChangesSince,
  deploymentsMark,
  endpointsMark,
  enrolmentsMark,
  fleetsMark,
  NEWEST_CHANGES_MAXIMUM,
  newestChanges,
  presenceMark,
  usageMark,
  webhooksMark,
} from "./changes.ts";
export type { AuditedChange } from "./changes.ts";
export { authenticate, isAllowed, isForOnePurpose } from "./kernel/auth/authenticate.ts";
export type { Credential, Principal } from "./kernel/auth/authenticate.ts";
export { endSession, SESSION_LIFETIME_MS } from "./kernel/auth/session-queries.ts";
export { workingCredentials } from "./kernel/auth/credentials.ts";
export { CONSOLE_TOKEN_PREFIX, createToken, hashSecret } from "./kernel/auth/token.ts";
export { createFresh } from "./kernel/coalesce.ts";
export { send } from "./kernel/http/send.ts";
export { answerJson, answerValue, refuse, refuseUnavailable } from "./kernel/http/answers.ts";
export type { Answer } from "./kernel/http/answers.ts";
export { arrivalOf, clientAddress, isFromConsole, listenerArrivalOf } from "./kernel/http/arrival.ts";
export { dropConsoleCookie, keepConsoleCookie } from "./kernel/http/arrival.ts";
export { readRequest } from "./kernel/http/body.ts";
export { route } from "./kernel/http/mount.ts";
export type { MountContext } from "./kernel/http/mount.ts";
export type { ServiceMachine } from "./kernel/machine.ts";
export { authorship } from "./kernel/operation.ts";
export { audit } from "./kernel/store/audit.ts";
export type { Reader, Store } from "./kernel/store/store.ts";
export { StoreUnavailableError } from "./kernel/store/unavailable.ts";
export { findLogin, isOver, userCode } from "./logins/logins.ts";
export { answerSession, signIn, storeTag } from "./logins/sessions.ts";
