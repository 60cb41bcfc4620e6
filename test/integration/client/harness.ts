import { inspect } from "node:util";

import { expect } from "vitest";

import type { CallResult } from "../../../src/client/call-result.ts";
import { CANARY, clientOf, never, type Settings } from "./program.ts";

export const BODY = {
  name: "arm-7",
  robot_type_id: "lerobot.so101-follower.v1",
  region: "eu-north",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

export const ROBOT = {
  id: "rob_1",
  name: "arm-7",
  robot_type_id: "lerobot.so101-follower.v1",
  region: "eu-north",
  created_at: "2030-01-01T00:00:00Z",
  site: null,
  labels: {},
};

/** `value`, printed in every way. */
export function dump(value: unknown): string {
  return `${inspect(value, { depth: Infinity, showHidden: true })} ${JSON.stringify(value)} ${String(value)}`;
}

/** Lists robots once, and checks that the result contains no secret. */
export async function listed(baseUrl: string, settings: Settings = {}): Promise<CallResult<unknown>> {
  const client = clientOf(baseUrl, settings);
  const result = await client.listRobots(never());
  expect(dump(result)).not.toContain(CANARY);
  await client.close();
  return result;
}
