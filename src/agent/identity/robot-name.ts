/** An operator may rename an enrolled robot; it registers with the name that the service has for it. */
import { isPathParameter } from "../../client/send-request.ts";
import type { IdentityClient } from "../../client/identity-client.ts";
import type { Secret } from "../../client/secret.ts";
import { later } from "./answers.ts";
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
