import { isPathParameter } from "../../client/address.ts";
import { createIdentityClient } from "../../client/identity-client.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Connection } from "../registration/connect.ts";
import { judgeName } from "./answers.ts";
import { createIdentityFiles, readRobotCredential } from "./identity-files.ts";

/**
 * Asks the service how it calls this robot, and keeps the name. For commands without the agent, which asks after a heartbeat.
 *
 * @returns true if an operator renamed the robot. @throws Node system errors; `signal.reason` when the signal aborts.
 */
export async function learnName(
  { files, identity }: Pick<Machine, "files" | "identity">,
  stateDirectory: string,
  { serviceUrl, access }: Pick<Connection, "serviceUrl" | "access">,
  signal: AbortSignal,
): Promise<boolean> {
  const own = await readRobotCredential(files, stateDirectory, serviceUrl, await identity.machine());
  if (own === null) return false;
  const { robot_id: robotId, robot_name: before } = own.approved;
  if (!isPathParameter(robotId)) return false;
  const result = await createIdentityClient(access).getRobot(robotId, own.secret, signal);
  signal.throwIfAborted();
  const verdict = judgeName(result, robotId);
  if ("kind" in verdict || verdict.name === null || verdict.name === before) return false;
  await createIdentityFiles(files, stateDirectory).saveCredential({ ...own.approved, robot_name: verdict.name });
  return true;
}
