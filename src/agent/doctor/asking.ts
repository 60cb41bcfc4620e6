import type { ServiceClient } from "../../client/client.ts";
import { createClient } from "../../client/client.ts";
import type { Credential } from "../../client/credentials.ts";
import { createUndiciTransport } from "../../client/transport/undici-transport.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";

/** Calls the service, and closes the connections afterwards. */
export async function askService<T>(
  { machine, environment, version }: CommandContext,
  service: AgentConfiguration["service"],
  credential: Credential,
  ask: (client: ServiceClient) => Promise<T>,
): Promise<T> {
  const {
    ca_file: caFile,
    proxy,
    allow_insecure: allowInsecure,
    connect_timeout_s: connectTimeoutS,
    headers_timeout_s: headersTimeoutS,
    request_timeout_s: requestTimeoutS,
  } = service;
  const transport = createUndiciTransport({ caFile, proxy, allow_insecure: allowInsecure, environment, ...machine });
  const client = createClient({
    baseUrl: service.url,
    transport,
    clock: machine.clock,
    userAgent: `robot-policy-agent/${version}`,
    timeouts: {
      connectMs: connectTimeoutS * 1000,
      headers_ms: headersTimeoutS * 1000,
      total_ms: requestTimeoutS * 1000,
    },
    credential: async () => credential,
  });
  try {
    return await ask(client);
  } finally {
    await transport.close();
  }
}
