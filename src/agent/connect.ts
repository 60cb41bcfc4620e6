import { join } from "node:path";

import { createClient } from "../client/client.ts";
import { loadCredential } from "../client/credentials.ts";
import type { Transport } from "../client/transport.ts";
import { createUndiciTransport } from "../client/undici-transport.ts";
import type { Machine } from "../platform/machine.ts";
import type { AgentConfiguration } from "./configuration.ts";
import type { Folders } from "./folders.ts";
import type { Connection } from "./reconciler.ts";

export interface ConnectOptions {
  readonly machine: Machine;
  readonly folders: Folders;
  /** For proxies, and for the key at provisioning. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly user_id: number;
  readonly version: string;
  /** The network; the real one unless a simulated machine brings its own. */
  openTransport?(configuration: AgentConfiguration): Transport;
}

/** The client for a configuration: where the service is, how to get there, and with which key. Nothing is opened yet. */
export function connect(configuration: AgentConfiguration, options: ConnectOptions): Connection {
  const { machine, folders, environment } = options;
  const { url, key_file, connect_timeout_s, headers_timeout_s, request_timeout_s } = configuration.service;
  const transport = options.openTransport?.(configuration) ?? openNetwork(configuration, options);
  const client = createClient({
    base_url: url,
    transport,
    clock: machine.clock,
    user_agent: `robot-policy-agent/${options.version}`,
    timeouts: {
      connect_ms: connect_timeout_s * 1000,
      headers_ms: headers_timeout_s * 1000,
      total_ms: request_timeout_s * 1000,
    },
    credential: () =>
      loadCredential(
        {
          credentials_directory: folders.credentials_directory ?? undefined,
          key_file: key_file ?? undefined,
          environment_key: environment["ROBOT_POLICY_API_KEY"],
          service_user_id: options.user_id,
        },
        machine.files,
      ),
  });
  return {
    client,
    service_url: url,
    credential_paths: [
      ...(folders.credentials_directory === null ? [] : [join(folders.credentials_directory, "api-key")]),
      ...(key_file === null ? [] : [key_file]),
    ],
    prepare: () => transport.prepare(),
    close: () => transport.close(),
  };
}

function openNetwork(configuration: AgentConfiguration, options: ConnectOptions): Transport {
  const { ca_file, proxy, allow_insecure } = configuration.service;
  const { files, clock } = options.machine;
  return createUndiciTransport({ ca_file, proxy, allow_insecure, environment: options.environment, files, clock });
}
