import type { ServiceAccess } from "../../client/send-request.ts";
import type { Transport } from "../../client/transport/transport.ts";
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

/** How to send requests to the configured service, in the agent's name. */
export function accessTo(
  service: ServiceConfiguration,
  {
    transport,
    machine,
    version,
  }: { readonly transport: Transport; readonly machine: Machine; readonly version: string },
): ServiceAccess {
  return {
    baseUrl: service.url,
    transport,
    clock: machine.clock,
    userAgent: `robot-policy-agent/${version}`,
    timeouts: {
      connectMs: service.connect_timeout_s * 1000,
      headersMs: service.headers_timeout_s * 1000,
      totalMs: service.request_timeout_s * 1000,
    },
  };
}
