import type { ServiceClient } from "../../client/client.ts";
import { createClient } from "../../client/client.ts";
import type { Credential, CredentialProblem } from "../../client/credentials.ts";
import type { ServiceAccess } from "../../client/send-request.ts";
import type { Timeouts, Transport } from "../../client/transport/transport.ts";
import { createUndiciTransport } from "../../client/transport/undici-transport.ts";
import type { Machine } from "../../platform/machine.ts";
import type { ServiceConfiguration } from "../configuration/keys.ts";

/** The route to the service: certificates, and the proxy of the configuration or the environment. */
export function openNetwork(
  { ca_file: caFile, proxy, allow_insecure: allowInsecure }: ServiceConfiguration,
  environment: Readonly<Record<string, string | undefined>>,
  { files, clock }: Machine,
): Transport {
  return createUndiciTransport({ caFile, proxy, allow_insecure: allowInsecure, environment, files, clock });
}

export interface ClientOptions {
  readonly transport: Transport;
  readonly machine: Machine;
  readonly version: string;
  readonly credential: () => Promise<Credential | CredentialProblem>;
}

/** A client of the configured service, in the agent's name. */
export function openClient(service: ServiceConfiguration, options: ClientOptions): ServiceClient {
  return createClient({ ...accessTo(service, options), credential: options.credential });
}

/** How to send requests to the configured service, in the agent's name. */
export function accessTo(
  service: ServiceConfiguration,
  { transport, machine, version }: Omit<ClientOptions, "credential">,
): ServiceAccess {
  return {
    baseUrl: service.url,
    transport,
    clock: machine.clock,
    userAgent: `robot-policy-agent/${version}`,
    timeouts: timeoutsOf(service),
  };
}

/** How long a request and its parts may take. */
export function timeoutsOf(service: ServiceConfiguration): Timeouts {
  return {
    connectMs: service.connect_timeout_s * 1000,
    headersMs: service.headers_timeout_s * 1000,
    totalMs: service.request_timeout_s * 1000,
  };
}
