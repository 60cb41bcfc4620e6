import { expect, test } from "vitest";

import { createIdentityClient } from "../../../src/client/identity-client.ts";
import { Secret } from "../../../src/client/secret.ts";
import { createRobot } from "../agent/robot-in-process.ts";
import { SteppedClock } from "../look/machine.ts";

const TERMS = { credential_expires_at: "2100-01-01T00:00:00Z", renew_after_s: 3600 };
const STARTED = {
  approval_id: "renr_1",
  user_code: "AAAA-2222",
  poll_token: "rps_poll_0001",
  expires_at: "2100-01-01T00:00:00Z",
  interval_s: 5,
  approval_required: true,
};
const APPROVED = {
  ...TERMS,
  status: "approved",
  installation_id: "rinst_1",
  installation_token: "t".repeat(24),
  robot: { id: "rob_1", name: "arm-7", region: "eu-central-1" },
};

/** The client of a service that answers everything with this. */
async function answeredWith(body: object) {
  const robot = await createRobot(new SteppedClock());
  robot.respond = () => ({ status: 200, body });
  return createIdentityClient(robot.connect(robot.initial, () => null).access);
}

const { signal } = new AbortController();
const start = {
  requested_name: "arm-7",
  configuration_digest: `sha256:${"0".repeat(64)}`,
  public_key: "k".repeat(43),
};
const poll = { approval_id: "renr_1", poll_token: "rps_poll_0001", signature: "s" };

test.each([
  ["AAAA-2222", "ok"],
  ["ABCDEFGH23456789", "ok"],
  [String.raw`AAAA\e[2J`, "undecodable"],
  ["a;reboot", "undecodable"],
  ["--yes", "undecodable"],
  ["AAAA 2222", "undecodable"],
  ["", "undecodable"],
])("start: code %j → %s", async (code, kind) => {
  const client = await answeredWith({ ...STARTED, user_code: code });
  expect((await client.start(start, null, signal)).kind).toBe(kind);
});

test.each([
  ["arm-7", "ok"],
  ["Bad Name", "undecodable"],
  ["arm-7\u202E", "undecodable"],
  ["arm-7\n", "undecodable"],
  ["-arm", "undecodable"],
  ["a".repeat(65), "undecodable"],
])("name of the robot %j → %s", async (name, kind) => {
  const robot = { ...APPROVED.robot, name };
  const approved = await answeredWith({ ...APPROVED, robot });
  expect((await approved.poll(poll, signal)).kind).toBe(kind);
  const asked = await answeredWith(robot);
  expect((await asked.getRobot("rob_1", new Secret("t".repeat(24)), signal)).kind).toBe(kind);
});

test("region with an escape → as if the service had said none", async () => {
  const client = await answeredWith({ ...APPROVED, robot: { ...APPROVED.robot, region: "eu\u001B[2J" } });
  expect(await client.poll(poll, signal)).toMatchObject({ kind: "ok", value: { robot: { region: null } } });
});
