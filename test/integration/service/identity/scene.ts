import * as z from "zod";
import { expect } from "vitest";

import type { EnrolmentStarted } from "../../../../src/api/enrolments.ts";
import { enrolmentText } from "../../../../src/api/wire/signed-texts.ts";
import type { Clock } from "../../../../src/platform/clock.ts";
import type { StoreLocation } from "../../../../src/service/kernel/store/store.ts";
import type { ServiceConfiguration } from "../../../../src/service/service.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import { NO_DIGEST, RobotComputer } from "../../../support/service/robot-computer.ts";
import type { RunningService } from "../../../support/service/service.ts";
import { testService } from "../../../support/service/test-service.ts";

/**
 * A service without request limits, so that only the limits of enrolments apply, and a clock that the test advances. Budgets that refill
 * with time refill only when the clock advances.
 */
export interface Scene {
  readonly running: RunningService;
  /** Advances the clock; tasks that are due run. */
  advance(ms: number): void;
  computer(): RobotComputer;
  approve(started: EnrolmentStarted, members?: object): Promise<Response>;
  /** An enrollment key that is valid for a week. */
  enrollmentKey(uses: number): Promise<{ readonly id: string; readonly api_key: string }>;
  /** How many uses a key has left. */
  usesOf(id: string): Promise<number | null | undefined>;
}

const keySchema = z.object({ id: z.string(), api_key: z.string() });
const keysSchema = z.object({ items: z.array(z.object({ id: z.string(), uses_remaining: z.number().nullable() })) });

export async function openScene(
  store: StoreLocation | undefined,
  configuration: Partial<ServiceConfiguration> = {},
): Promise<Scene> {
  let aheadMs = 0;
  const pushed = new PushedClock();
  const beganMs = pushed.monotonicMs();
  const clock: Clock = {
    wallMs: () => pushed.wallMs() + aheadMs,
    monotonicMs: () => beganMs + aheadMs,
    sleep: (durationMs, signal) => pushed.sleep(durationMs, signal),
  };
  const running = await testService({ store, clock, configuration: { rateLimit: null, ...configuration } });
  return {
    running,
    advance(ms) {
      aheadMs += ms;
      pushed.push(ms);
    },
    computer: () => new RobotComputer(() => running.url),
    approve: ({ user_code: userCode }, members = {}) =>
      running.send("POST", "/v1/robots/approve", { user_code: userCode, ...members }),
    async enrollmentKey(uses) {
      const expiresAt = new Date(clock.wallMs() + 7 * 86_400_000).toISOString();
      const body = { label: "line 4", scopes: ["robots:enroll"], expires_at: expiresAt, enrollment: { uses } };
      return keySchema.parse(await (await running.send("POST", "/v1/me/api-keys", body)).json());
    },
    async usesOf(id) {
      const { items } = keysSchema.parse(await (await running.send("GET", "/v1/me/api-keys")).json());
      return items.find((key) => key.id === id)?.uses_remaining;
    },
  };
}

/** Starts an enrolment; resolves with any answer. */
export function requestStart(
  computer: RobotComputer,
  members: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${computer.url()}/v1/robot-agent/enrollment`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({
      requested_name: "arm-1",
      public_key: computer.publicKey,
      configuration_digest: NO_DIGEST,
      region: "us-west-2",
      ...members,
    }),
  });
}

/** Polls; resolves with any answer. */
export function requestPoll(computer: RobotComputer, started: EnrolmentStarted): Promise<Response> {
  const { approval_id: approvalId, poll_token: pollToken } = started;
  const signature = computer.sign(enrolmentText(approvalId, pollToken));
  const body = { approval_id: approvalId, poll_token: pollToken, signature };
  return computer.send("POST", "/v1/robot-agent/enrollment/poll", body, null);
}

const reasonSchema = z.object({ detail: z.string(), message: z.string(), reason: z.string().optional() });

/** The status of a refusal, and its reason or else its detail. */
export async function refusalOf(answer: Response): Promise<readonly [number, string | undefined]> {
  const { reason, detail, message } = reasonSchema.parse(await answer.json());
  expect(message).toBe(detail);
  return [answer.status, reason ?? detail];
}
