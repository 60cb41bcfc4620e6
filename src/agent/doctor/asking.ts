import type { ServiceClient } from "../../client/client.ts";
import { createClient } from "../../client/client.ts";
import type { Credential } from "../../client/credential.ts";
import type { ServiceAccess } from "../../client/send-request.ts";
import type { CommandContext } from "../commands/context.ts";
import type { ServiceConfiguration } from "../configuration/keys.ts";
import { accessTo, openNetwork } from "../registration/network.ts";

/** Sends requests to the service, and closes the connections afterwards. */
export async function withAccess<T>(
  { machine, environment, version }: CommandContext,
  service: ServiceConfiguration,
  send: (access: ServiceAccess) => Promise<T>,
): Promise<T> {
  const transport = openNetwork(service, environment, machine);
  try {
    return await send(accessTo(service, { transport, machine, version }));
  } finally {
    await transport.close();
  }
}

/** Calls the service with this credential. */
export function askService<T>(
  context: CommandContext,
  service: ServiceConfiguration,
  credential: Credential,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  return withAccess(context, service, (access) => ask(createClient({ ...access, credential: async () => credential })));
}
