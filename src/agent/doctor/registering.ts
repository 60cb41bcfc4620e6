import { createClient } from "../../client/client.ts";
import type { Credential } from "../../client/credentials.ts";
import { createUndiciTransport } from "../../client/undici-transport.ts";
import { EXIT } from "../../platform/terminal.ts";
import type { CommandContext } from "../commands/context.ts";
import type { AgentConfiguration } from "../configuration.ts";
import type { Verdict as Told } from "../confirmation.ts";
import { askWhetherHeld } from "../confirmation.ts";
import type { Registration } from "../registration.ts";
import type { Verdict } from "./check.ts";
import { fail, ok, skip, warn } from "./check.ts";

/** The service holds what the state says that it does. */
export async function checkRegistration(
  { machine, environment, version }: CommandContext,
  { service }: AgentConfiguration,
  credential: Credential,
  registration: Registration | null,
  signal: AbortSignal,
): Promise<Verdict> {
  if (registration === null) return skip("nothing is registered yet");
  if (registration.service_url !== service.url) return skip(`registered at ${registration.service_url} so far`);
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
    return judgeTold(await askWhetherHeld(client, registration, signal), registration.request.name);
  } finally {
    await transport.close();
  }
}

const REGISTER = "the running agent registers again within a day; at once: robot-policy-agent --setup";

function judgeTold(told: Told, name: string): Verdict {
  switch (told.kind) {
    case "held":
      return ok(`the service holds the registration of ${name}`);
    case "lost":
      return fail(EXIT.failed, `the service lost the registration of ${name}: ${told.detail}`, REGISTER);
    case "replaced": {
      const what = `another registration took the place of this robot's at ${told.at}`;
      return fail(EXIT.conflict, what, `if two computers have the name ${name}, give one of them another; ${REGISTER}`);
    }
    case "untold":
      return warn(`the service does not say that it holds the registration: ${told.detail}`, REGISTER);
    case "unanswered":
      return warn(`the service could not be asked: ${told.detail}`, "ask again in a minute");
  }
}
