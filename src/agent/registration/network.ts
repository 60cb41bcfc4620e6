import type { Timeouts, Transport } from "../../client/transport/transport.ts";
import { createUndiciTransport } from "../../client/transport/undici-transport.ts";
import type { Machine } from "../../platform/machine.ts";
import type { ServiceConfiguration } from "../configuration/configuration.ts";

/** The route to the service: certificates, and the proxy of the configuration or the environment. */
export function openNetwork(
  { ca_file: caFile, proxy, allow_insecure: allowInsecure }: ServiceConfiguration,
  environment: Readonly<Record<string, string | undefined>>,
  { files, clock }: Machine,
): Transport {
  return createUndiciTransport({ caFile, proxy, allow_insecure: allowInsecure, environment, files, clock });
}

/** How long a request and its parts may take. */
export function timeoutsOf(service: ServiceConfiguration): Timeouts {
  return {
    connectMs: service.connect_timeout_s * 1000,
    headers_ms: service.headers_timeout_s * 1000,
    total_ms: service.request_timeout_s * 1000,
  };
}
