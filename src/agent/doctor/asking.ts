import type { ServiceClient } from "../../client/client.ts";
import type { Credential } from "../../client/credentials.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { openClient, openNetwork } from "../registration/network.ts";

/** Calls the service, and closes the connections afterwards. */
export async function askService<T>(
  { machine, environment, version }: CommandContext,
  service: AgentConfiguration["service"],
  credential: Credential,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  const transport = openNetwork(service, environment, machine);
  try {
    return await ask(openClient(service, { transport, machine, version, credential: async () => credential }));
  } finally {
    await transport.close();
  }
}
