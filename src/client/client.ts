/**
 * The client room: requests to a robot policy service.
 *
 * This file has the operations that a robot computer uses, operation-client.ts all operations, for a terminal. Calls return failures as
 * values and never retry: the caller decides that (platform/retry.ts). The credential is loaded before each request, so that a replaced key
 * file is used at once (load-credential.ts).
 *
 * transport/transport.ts is the interface to the network. transport/undici-transport.ts implements it, with proxies (transport/proxy.ts),
 * private certificate authorities (transport/certificates.ts) and time limits (transport/limits.ts), which the first request loads.
 */
import type { ZodType } from "zod";

import type { RobotView } from "../api/robot-views.ts";
import type { RobotSetup } from "../api/robots.ts";
import { operationUrl } from "./address.ts";
import type { CallResult } from "./call-result.ts";
import { type Credential, type CredentialProblem, describeCredential } from "./credential.ts";
import type { HeldRegistration } from "./robot-answers.ts";
import { sendRequest, type ServiceAccess, type ServiceRequest } from "./send-request.ts";

/** The operations that a robot computer uses. They throw only for bugs. */
export type ServiceClient = ReturnType<typeof createClient>;

export interface ClientOptions extends ServiceAccess {
  /** Called before each request. */
  readonly credential: () => Promise<Credential | CredentialProblem>;
}

/** The maximum size of an answer with one record, and of one with a list. */
export const RECORD_LIMIT_BYTES = 1_048_576;
export const LIST_LIMIT_BYTES = 33_554_432;

export function createClient(options: ClientOptions) {
  async function call<T>(
    credential: Credential | CredentialProblem,
    request: ServiceRequest,
    loadSchema: () => Promise<ZodType<T>>,
    signal: AbortSignal,
  ): Promise<CallResult<T>> {
    if (credential.kind === "credential-problem") return { kind: "no-credential", problem: credential };
    const { secret } = credential;
    const sent = await sendRequest(options, request, secret, signal);
    if (sent.kind === "unreachable") return sent;
    // Loaded with the first answer: most starts need none.
    const { readAnswer } = await import("./answer.ts");
    const { answer, wallMs } = sent;
    const result = readAnswer(answer, { schema: await loadSchema(), url: request.url, wallMs, secret });
    return result.kind === "refused" && result.status === 401
      ? { ...result, detail: `${result.detail} (${describeCredential(credential)})` }
      : result;
  }

  const urlOf = (path: string, parameters = {}) => operationUrl(options.baseUrl, path, parameters);

  return {
    /** @param ready awaited before anything is sent; the credential is read meanwhile. */
    async setupRobot(
      body: RobotSetup,
      signal: AbortSignal,
      ready?: Promise<void>,
    ): Promise<CallResult<{ readonly robot: RobotView }>> {
      const [credential] = await Promise.all([options.credential(), ready]);
      const url = urlOf("/v1/robots/setup");
      const request = {
        method: "POST",
        url,
        body: JSON.stringify(body),
        answerLimitBytes: RECORD_LIMIT_BYTES,
      } as const;
      const loadSchema = async () => (await import("./robot-answers.ts")).keptRobotAnswerSchema;
      return call(credential, request, loadSchema, signal);
    },
    /**
     * The registration of a robot at the service. Beyond the service document: a service may lack it and answer 404.
     *
     * @param robot a name that `isPathParameter` accepts.
     */
    async getRegistration(robot: string, signal: AbortSignal): Promise<CallResult<HeldRegistration>> {
      const url = urlOf("/v1/robots/{robot}/registration", { robot });
      // A contract may be nearly as long as a request.
      const request = { method: "GET", url, body: null, answerLimitBytes: 2 * RECORD_LIMIT_BYTES } as const;
      const loadSchema = async () => (await import("./robot-answers.ts")).heldRegistrationSchema;
      return call(await options.credential(), request, loadSchema, signal);
    },
  };
}
