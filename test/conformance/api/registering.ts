import { setTimeout } from "node:timers/promises";

import { REGION, ROBOT_TYPE } from "./catalog.ts";
import type { Client } from "./client.ts";
import type { RobotView } from "./views.ts";

export const DIGEST = `sha256:${"0".repeat(64)}`;

type Members = Readonly<Record<string, unknown>>;

/** A registration that every model of the catalog accepts, and further members. */
export function setupOf(name: string, rest: Members = {}) {
  return { name, robot_type_id: ROBOT_TYPE, region: REGION, configuration_digest: DIGEST, ...rest };
}

/** Registers robots one after the other; resolves with their views. */
export async function register(client: Client, names: readonly string[], rest: Members = {}): Promise<RobotView[]> {
  const views: RobotView[] = [];
  for (const name of names) {
    // The order of two replicas within a millisecond is undefined.
    for (const lastMs = Date.now(); Date.now() === lastMs;) await setTimeout(1);
    views.push((await client.call("setupRobot", { body: setupOf(name, rest) })).robot);
  }
  return views;
}
