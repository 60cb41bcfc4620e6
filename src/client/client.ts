/**
 * The client room: how the programs talk to a robot policy service.
 *
 * This file is what a robot needs of it, operation-client.ts what a terminal does. A call comes back as a value, whatever
 * happened. Nothing here retries; the caller knows what a failure means to it (platform/retry.ts has the
 * delays). A credential is asked for before each request, so that one replaced on disk counts at once (credentials.ts).
 *
 * transport/transport.ts is the seam to the network. transport/undici-transport.ts is the real one: proxies (transport/proxy.ts), private certificate
 * authorities (transport/certificates.ts), time limits (transport/limits.ts), loaded when the first request needs them.
 */
import type { ZodType } from "zod";

import type { RobotView } from "../api/robot-views.ts";
import type { RobotSetup } from "../api/robots.ts";
import { operationUrl } from "./address.ts";
import type { CallResult } from "./call-result.ts";
import type { Credential, CredentialProblem } from "./credentials.ts";
import type { HeldRegistration } from "./held-registration.ts";
import { sendRequest, unreachable } from "./send-request.ts";
import type { ServiceAccess, ServiceRequest } from "./send-request.ts";
import { loadLate } from "./transport/load-late.ts";

/** What a robot computer asks of the service; operation-client.ts has all operations. Throws nothing but bugs. */
export interface ServiceClient {
  /** @param ready awaited before anything is sent; the credential is read meanwhile. */
  setupRobot(
    body: RobotSetup,
    signal: AbortSignal,
    ready?: Promise<void>,
  ): Promise<CallResult<{ readonly robot: RobotView }>>;
  /**
   * What the service holds of a robot. Beyond the service document: a service may answer 404 to all of it.
   *
   * @param robot a name that `isPathParameter` accepts.
   */
  getRegistration(robot: string, signal: AbortSignal): Promise<CallResult<HeldRegistration>>;
  /** Where the service has endpoints. Beyond the service document as well. */
  listRegions(signal: AbortSignal): Promise<CallResult<{ readonly regions: readonly string[] }>>;
}

export interface ClientOptions extends ServiceAccess {
  /** Called before each request. */
  readonly credential: () => Promise<Credential | CredentialProblem>;
}

/** Of an answer that holds one thing, and of one that holds a list. */
export const RECORD_LIMIT_BYTES = 1_048_576;
export const LIST_LIMIT_BYTES = 33_554_432;

export function createClient(options: ClientOptions): ServiceClient {
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
    // Loaded with the first answer: the schemas would cost a start a third of its time (10 ms), and most starts need none.
    try {
      await loadLate(() => import("zod"));
    } catch (error) {
      return unreachable(error, secret);
    }
    const { readAnswer } = await import("./answer.ts");
    const { answer, wall_ms: wallMs } = sent;
    return readAnswer(answer, { schema: await loadSchema(), url: request.url, wallMs, secret });
  }

  return {
    async setupRobot(body, signal, ready) {
      const [credential] = await Promise.all([options.credential(), ready]);
      const request = {
        method: "POST",
        url: operationUrl(options.baseUrl, "/v1/robots/setup", {}),
        body: JSON.stringify(body),
        answerLimitBytes: RECORD_LIMIT_BYTES,
      } as const;
      const loadSchema = async () => (await import("./kept-robot.ts")).keptRobotAnswerSchema;
      return call(credential, request, loadSchema, signal);
    },
    async getRegistration(robot, signal) {
      const request = {
        method: "GET",
        url: operationUrl(options.baseUrl, "/v1/robots/{robot}/registration", { robot }),
        body: null,
        // A contract may be nearly as long as a request.
        answerLimitBytes: 2 * RECORD_LIMIT_BYTES,
      } as const;
      const loadSchema = async () => (await import("./held-registration.ts")).heldRegistrationSchema;
      return call(await options.credential(), request, loadSchema, signal);
    },
    async listRegions(signal) {
      const request = {
        method: "GET",
        url: operationUrl(options.baseUrl, "/v1/regions", {}),
        body: null,
        answerLimitBytes: RECORD_LIMIT_BYTES,
      } as const;
      const loadSchema = async () => (await import("../api/endpoints.ts")).regionListSchema;
      return call(await options.credential(), request, loadSchema, signal);
    },
  };
}
