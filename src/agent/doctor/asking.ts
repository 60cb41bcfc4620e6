import type { ServiceClient } from "../../client/client.ts";
import { createClient } from "../../client/client.ts";
import type { Credential } from "../../client/credentials.ts";
import { createUndiciTransport } from "../../client/undici-transport.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration.ts";

/** Asks the service something, over connections that are closed afterwards. */
export async function askService<T>(
  { machine, environment, version }: CommandContext,
  service: AgentConfiguration["service"],
  credential: Credential,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  const { ca_file, proxy, allow_insecure, connect_timeout_s, headers_timeout_s, request_timeout_s } = service;
  const transport = createUndiciTransport({ ca_file, proxy, allow_insecure, environment, ...machine });
  const client = createClient({
    base_url: service.url,
    transport,
    clock: machine.clock,
    user_agent: `robot-policy-agent/${version}`,
    timeouts: {
      connect_ms: connect_timeout_s * 1000,
      headers_ms: headers_timeout_s * 1000,
      total_ms: request_timeout_s * 1000,
    },
    credential: async () => credential,
  });
  try {
    return await ask(client);
  } finally {
    await transport.close();
  }
}
