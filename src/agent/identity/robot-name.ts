/** An operator may rename an enrolled robot; it registers with the name that the service has for it. */
import { isPathParameter } from "../../client/address.ts";
import { createIdentityClient, type IdentityClient } from "../../client/identity-client.ts";
import { Secret } from "../../client/secret.ts";
import type { Machine } from "../../platform/machine.ts";
import type { Connection } from "../registration/connect.ts";
import { later } from "./answers.ts";
import { createIdentityFiles, readOwnIdentity } from "./identity-files.ts";
import type { CredentialRecord } from "./records.ts";

/** The name, null when the service does not say it. `unanswered`: ask again. */
type NameAnswer = { readonly kind: "name"; readonly name: string | null } | { readonly kind: "unanswered" };

/** Asks the service how it calls this robot. @throws `signal.reason` when the signal aborts. */
export async function askName(
  client: IdentityClient,
  { robot_id: robotId }: Pick<CredentialRecord, "robot_id">,
  secret: Secret,
  signal: AbortSignal,
): Promise<NameAnswer> {
  if (!isPathParameter(robotId)) return { kind: "name", name: null };
  const result = await client.getRobot(robotId, secret, signal);
  signal.throwIfAborted();
  if (result.kind === "ok") return { kind: "name", name: result.value.id === robotId ? result.value.name : null };
  return later(result).state === "unreachable" ? { kind: "unanswered" } : { kind: "name", name: null };
}

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
  const { credential } = await readOwnIdentity(files, stateDirectory, serviceUrl, await identity.machine());
  if (credential === null) return false;
  const secret = new Secret(credential.installation_token);
  const answer = await askName(createIdentityClient(access), credential, secret, signal);
  if (answer.kind === "unanswered" || answer.name === null || answer.name === credential.robot_name) return false;
  await createIdentityFiles(files, stateDirectory).saveCredential({ ...credential, robot_name: answer.name });
  return true;
}
