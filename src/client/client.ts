/**
 * The client room: requests to a robot policy service.
 *
 * This file has the operations by which a robot computer registers, identity-client.ts those of its identity, operation-client.ts all
 * operations, for a terminal. Calls return failures as values and never retry: the caller decides that (platform/retry.ts).
 *
 * transport/transport.ts is the interface to the network. transport/undici-transport.ts implements it, with proxies (transport/proxy.ts),
 * private certificate authorities (transport/certificates.ts) and time limits, which the first request loads.
 */
import * as z from "zod";

import type { RegistrationParts } from "../api/differences.ts";
import { eachOf, ROBOT_TEXT_NAMES } from "../api/robot-texts.ts";
import { type RobotView, robotViewSchema } from "../api/robot-views.ts";
import type { RobotSetup } from "../api/robots.ts";
import { maskWholeKeys } from "../api/wire/service-key.ts";
import type { CallResult } from "./call-result.ts";
import { type Credential, type CredentialProblem, describeCredential } from "./credential.ts";
import {
  callService,
  operationUrl,
  RECORD_LIMIT_BYTES,
  type ServiceAccess,
  type ServiceRequest,
} from "./send-request.ts";

/** The operations by which a robot computer registers. They throw only for bugs. */
export type ServiceClient = ReturnType<typeof createClient>;

export interface ClientOptions extends ServiceAccess {
  /** Called before each request, so that a replaced key file is used at once. */
  readonly credential: () => Promise<Credential | CredentialProblem>;
}

export function createClient(options: ClientOptions) {
  async function call<T>(
    request: ServiceRequest,
    schema: z.ZodType<T>,
    signal: AbortSignal,
    ready?: Promise<void>,
  ): Promise<CallResult<T>> {
    const [credential] = await Promise.all([options.credential(), ready]);
    if (credential.kind === "credential-problem") return { kind: "no-credential", problem: credential };
    const result = await callService(options, request, schema, credential.secret, signal);
    return result.kind === "refused" && result.status === 401
      ? { ...result, detail: `${result.detail} (${describeCredential(credential)})` }
      : result;
  }

  return {
    /** @param ready awaited before anything is sent; the credential is read meanwhile. */
    setupRobot(body: RobotSetup, signal: AbortSignal, ready?: Promise<void>) {
      const url = operationUrl(options.baseUrl, "/v1/robots/setup", {});
      const request = {
        method: "POST",
        url,
        body: JSON.stringify(body),
        answerLimitBytes: RECORD_LIMIT_BYTES,
      } as const;
      return call(request, keptRobotAnswerSchema, signal, ready);
    },
    /**
     * The registration of a robot at the service. Beyond the service document: a service may lack it and answer 404.
     *
     * @param robot a name that `isPathParameter` accepts.
     */
    getRegistration(robot: string, signal: AbortSignal) {
      const url = operationUrl(options.baseUrl, "/v1/robots/{robot}/registration", { robot });
      // A contract may be nearly as long as a request.
      const request = { method: "GET", url, body: null, answerLimitBytes: 2 * RECORD_LIMIT_BYTES } as const;
      return call(request, heldRegistrationSchema, signal);
    },
    /** Says what the digest of the last registration covers. Beyond the service document, as `getRegistration`. @param robot as there. */
    putRegistrationParts(robot: string, parts: RegistrationParts, signal: AbortSignal) {
      const url = operationUrl(options.baseUrl, "/v1/robots/{robot}/registration/parts", { robot });
      const body = JSON.stringify(parts);
      return call({ method: "PUT", url, body, answerLimitBytes: RECORD_LIMIT_BYTES }, missingSchema, signal);
    },
    /** Sends a file that the robot shares. Beyond the service document, as `getRegistration`. @param robot as there. */
    putSharedContent(robot: string, sha256: string, text: string, signal: AbortSignal) {
      const url = operationUrl(options.baseUrl, "/v1/robots/{robot}/contents/{sha256}", { robot, sha256 });
      const body = JSON.stringify({ text });
      return call({ method: "PUT", url, body, answerLimitBytes: RECORD_LIMIT_BYTES }, z.object({}), signal);
    },
  };
}

/** Twice what the service takes for any of them, in UTF-16 units. */
const TEXT_LIMIT = 512;
const LABELS_LIMIT = 32;

/**
 * Answer of `POST /v1/robots/setup`, as an agent keeps it: what the service says of a robot stays in the state file, the status and the log
 * for years. It is bounded and holds no key.
 */
const keptRobotAnswerSchema = z.object({
  robot: robotViewSchema
    .refine(isBounded, "longer than a robot can be")
    .transform((robot): RobotView => robotViewSchema.parse(JSON.parse(maskWholeKeys(JSON.stringify(robot))))),
});

function isBounded({ labels, ...texts }: RobotView): boolean {
  const all = [...Object.values(texts), ...Object.entries(labels).flat()];
  return Object.keys(labels).length <= LABELS_LIMIT && all.every((text) => (text ?? "").length <= TEXT_LIMIT);
}

/**
 * The registration that a service has of a robot, as far as an agent compares it (api/registrations.ts, which is slow to load at each boot).
 * Members that are shown to people have a checked format, so that they are short and contain no key.
 */
const heldRegistrationSchema = z.object({
  robot_id: z.string(),
  robot: z.string(),
  robot_type_id: z.string(),
  region: z.string(),
  labels: z.record(z.string(), z.string()),
  contract: z.record(z.string(), z.unknown()).nullable(),
  /** Missing when the service does not know the text. */
  ...eachOf(ROBOT_TEXT_NAMES, () => z.string().nullish()),
  configuration_digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  registered_at: z.iso.datetime({ offset: true }),
  /** Since when more than one computer registers this name in turn. */
  contested_since: z.iso.datetime({ offset: true }).nullable(),
  /** Whether the service knows what the digest covers. Missing where it cannot. */
  parts_recorded: z.boolean().optional(),
});

/** Answer to the parts of a digest: hashes of contents, which the agent looks up among those that it shares. */
const missingSchema = z.object({ missing: z.array(z.string()) });

export type HeldRegistration = z.output<typeof heldRegistrationSchema>;
