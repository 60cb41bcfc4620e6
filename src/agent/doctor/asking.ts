import type { ServiceClient } from "../../client/client.ts";
import { createClient } from "../../client/client.ts";
import type { Credential } from "../../client/credentials.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import { openNetwork, timeoutsOf } from "../registration/network.ts";

/** Calls the service, and closes the connections afterwards. */
export async function askService<T>(
  { machine, environment, version }: CommandContext,
  service: AgentConfiguration["service"],
  credential: Credential,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  const transport = openNetwork(service, environment, machine);
  const client = createClient({
    baseUrl: service.url,
    transport,
    clock: machine.clock,
    userAgent: `robot-policy-agent/${version}`,
    timeouts: timeoutsOf(service),
    credential: async () => credential,
  });
  try {
    return await ask(client);
  } finally {
    await transport.close();
  }
}
