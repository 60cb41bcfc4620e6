/**
 * The requests by which a robot computer gets a credential of its own and keeps it: enrolment, renewal, heartbeat. As in client.ts, failures
 * are values and nothing is retried.
 */
import * as z from "zod";

import type { EnrolmentPoll, EnrolmentStart } from "../api/enrolments.ts";
import type { Heartbeat, Renewal } from "../api/installations.ts";
import type { CallResult } from "./call-result.ts";
import { Secret } from "./secret.ts";
import { callService, operationUrl, RECORD_LIMIT_BYTES, type ServiceAccess } from "./send-request.ts";

export type IdentityClient = ReturnType<typeof createIdentityClient>;

/** Printable ASCII without `|`, which separates the parts of a signed text. */
const SIGNED_FIELD = /^[\x21-\x7b\x7d\x7e]{1,512}$/;
/** Opaque to the robot. */
export const ROBOT_CREDENTIAL_PATTERN = /^[\x21-\x7e]{24,256}$/;
/** Shown on consoles, where agetty(8) takes `\e` for an escape, and as an argument of a command to copy. */
const USER_CODE = /^[A-Za-z0-9][A-Za-z0-9-]{0,15}$/;
/** The names of enrolled robots (robot-identity §5). A robot that took another one would register and be shown with it. */
const ROBOT_NAME = /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;
/** No control, formatting or unassigned character. */
const PLAIN_TEXT = /^\P{C}{1,128}$/u;
/** The same, which can be a segment of a path. */
const ROBOT_ID = /^(?!\.{1,2}$)\P{C}{1,128}$/u;
/** Far longer than a credential lives; a service that says more is not refused for it. */
const LONGEST_S = 366 * 24 * 60 * 60;

const moment = z.iso.datetime({ offset: true });

/** Until when a credential is valid, and when to renew it. */
const termsSchema = z.object({
  credential_expires_at: moment,
  renew_after_s: z
    .number()
    .min(0)
    .transform((seconds) => Math.min(seconds, LONGEST_S)),
});

const issuedSchema = termsSchema.extend({
  installation_id: z.string().regex(SIGNED_FIELD),
  installation_token: z
    .string()
    .regex(ROBOT_CREDENTIAL_PATTERN)
    .transform((token) => new Secret(token)),
});

const startedSchema = z.object({
  approval_id: z.string().regex(SIGNED_FIELD),
  user_code: z.string().regex(USER_CODE),
  poll_token: z
    .string()
    .regex(SIGNED_FIELD)
    .transform((token) => new Secret(token)),
  expires_at: moment,
  interval_s: z.number().min(1).max(60).catch(5),
  approval_required: z.boolean(),
  reason: z.string().nullish().catch(null),
});

export type Started = z.output<typeof startedSchema>;

const namedRobotSchema = z.object({ id: z.string().regex(ROBOT_ID), name: z.string().regex(ROBOT_NAME) });

const polledSchema = z.discriminatedUnion("status", [
  z.object({
    status: z.literal("pending"),
    retry_after_s: z.number().min(1).max(60).nullish(),
    reason: z.string().nullish().catch(null),
  }),
  issuedSchema.extend({
    status: z.literal("approved"),
    robot: namedRobotSchema.extend({
      region: z.string().regex(PLAIN_TEXT).nullish().catch(null),
      site: z.string().regex(PLAIN_TEXT).nullish().catch(null),
      labels: z.record(z.string().max(256), z.string().max(1024)).catch({}),
    }),
  }),
  z.object({ status: z.enum(["denied", "expired", "consumed"]) }),
]);

const renewedSchema = issuedSchema.extend({ recovered: z.boolean().catch(false) });

export function createIdentityClient(access: ServiceAccess) {
  /** @param hidden is removed from texts that may echo the request; the bearer unless given. */
  async function call<T>(
    schema: z.ZodType<T>,
    method: "POST" | "PUT",
    path: `/v1/robot-agent/${string}`,
    body: object,
    bearer: Secret | null,
    signal: AbortSignal,
    hidden?: Secret,
  ): Promise<CallResult<T>> {
    const url = operationUrl(access.baseUrl, path, {});
    const request = { method, url, body: JSON.stringify(body), answerLimitBytes: RECORD_LIMIT_BYTES };
    return callService(access, request, schema, bearer, signal, hidden);
  }

  return {
    /** @param bulkKey a key of scope robots:enroll; null for an enrolment that an operator approves. */
    start: (body: EnrolmentStart, bulkKey: Secret | null, signal: AbortSignal) =>
      call(startedSchema, "POST", "/v1/robot-agent/enrollment", body, bulkKey, signal),
    poll: (body: EnrolmentPoll, signal: AbortSignal) =>
      call(polledSchema, "POST", "/v1/robot-agent/enrollment/poll", body, null, signal, new Secret(body.poll_token)),
    /** @param held the credential that this computer holds, good or not; the signature is the proof. */
    renew: (body: Renewal, held: Secret, signal: AbortSignal) =>
      call(renewedSchema, "POST", "/v1/robot-agent/credential/renew", body, held, signal),
    heartbeat: (body: Heartbeat, credential: Secret, signal: AbortSignal) =>
      call(termsSchema, "PUT", "/v1/robot-agent/heartbeat", body, credential, signal),
    /** The robot of this id, as the service calls it now. */
    getRobot(robot: string, credential: Secret, signal: AbortSignal) {
      const url = operationUrl(access.baseUrl, "/v1/robots/{robot}", { robot });
      const request = { method: "GET", url, body: null, answerLimitBytes: RECORD_LIMIT_BYTES } as const;
      return callService(access, request, namedRobotSchema, credential, signal);
    },
  };
}
