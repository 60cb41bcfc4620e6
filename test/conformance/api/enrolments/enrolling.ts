import { expect } from "vitest";

import type { EnrolmentStarted } from "../../../../src/api/enrolments.ts";
import { enrolmentText } from "../../../../src/api/wire/signed-texts.ts";
import { NO_DIGEST, RobotComputer } from "../../../support/service/robot-computer.ts";
import type { Client, Sent } from "../client.ts";
import { refusal } from "../views.ts";
import { soon } from "../waiting.ts";

/** A computer whose requests alternate between replicas. */
export function computerOf(client: Client): RobotComputer {
  return new RobotComputer(() => client.nextUrl());
}

export function startOf(computer: RobotComputer, members: object = {}): Sent {
  return {
    body: {
      requested_name: "arm-1",
      public_key: computer.publicKey,
      configuration_digest: NO_DIGEST,
      region: "us-west-2",
      ...members,
    },
  };
}

export function start(client: Client, computer: RobotComputer, members: object = {}): Promise<EnrolmentStarted> {
  return client.as(null).call("startEnrolment", startOf(computer, members));
}

export function pollOf(computer: RobotComputer, started: EnrolmentStarted, change: object = {}): Sent {
  const { approval_id: approvalId, poll_token: pollToken } = started;
  const signature = computer.sign(enrolmentText(approvalId, pollToken));
  return { body: { approval_id: approvalId, poll_token: pollToken, signature, ...change } };
}

export async function poll(client: Client, computer: RobotComputer, started: EnrolmentStarted) {
  const polled = await client.as(null).call("pollEnrolment", pollOf(computer, started));
  if (polled.status === "approved") {
    computer.token = polled.installation_token;
    computer.installationId = polled.installation_id;
  }
  return polled;
}

/** Completes an enrolment; the computer then has its credential. */
export async function enroll(client: Client, members: object = {}): Promise<RobotComputer> {
  const computer = computerOf(client);
  const started = await start(client, computer, members);
  await client.call("approveEnrolment", { body: { user_code: started.user_code } });
  expect(await poll(client, computer, started)).toMatchObject({ status: "approved" });
  return computer;
}

/** Sends a heartbeat and waits until every replica shows it: the store gets it a moment later. */
export async function comeOnline(client: Client, computer: RobotComputer, robot = "arm-1"): Promise<void> {
  expect((await computer.heartbeat()).status).toBe(200);
  const seen = async () => (await client.call("getInstallation", { path: { robot } })).last_seen_at;
  // One request per replica: the one that did not get the heartbeat reads it from the store.
  await soon(async () => expect([await seen(), await seen()]).not.toContain(null));
}

export async function reasonOf(client: Client, ...[name, sent]: Parameters<Client["send"]>) {
  const { status, body } = await client.send(name, sent);
  return [status, refusal.parse(body).reason];
}

export const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

/** An enrollment key that is valid for a week. */
export function enrollmentKey(client: Client, enrollment: object = {}) {
  const body = { label: "line 4", scopes: ["robots:enroll"], expires_at: inDays(7) };
  return client.call("createApiKey", { body: { ...body, enrollment: { uses: 10, ...enrollment } } });
}
