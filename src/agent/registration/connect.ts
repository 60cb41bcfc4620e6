import { join } from "node:path";

import { createClient } from "../../client/client.ts";
import { loadCredential } from "../../client/credentials.ts";
import type { Transport } from "../../client/transport/transport.ts";
import type { Machine } from "../../platform/machine.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { Connection } from "../reconciler.ts";
import { openNetwork, timeoutsOf } from "./network.ts";

export interface ConnectOptions {
  readonly machine: Machine;
  readonly folders: Folders;
  /** For proxies, and for the key at provisioning. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly user_id: number;
  readonly version: string;
  /** The network of a simulated machine; the real network when absent. */
  openTransport?(configuration: AgentConfiguration): Transport;
}

/** The client for a configuration: service, route and key. Opens nothing yet. */
export function connect(configuration: AgentConfiguration, options: ConnectOptions): Connection {
  const { machine, folders, environment } = options;
  const { url, key_file: keyFile } = configuration.service;
  const transport = options.openTransport?.(configuration) ?? openNetwork(configuration.service, environment, machine);
  const client = createClient({
    baseUrl: url,
    transport,
    clock: machine.clock,
    userAgent: `robot-policy-agent/${options.version}`,
    timeouts: timeoutsOf(configuration.service),
    credential: () =>
      loadCredential(
        {
          credentialsDirectory: folders.credentialsDirectory ?? undefined,
          keyFile: keyFile ?? undefined,
          environmentKey: environment["ROBOT_POLICY_API_KEY"],
          serviceUserId: options.user_id,
        },
        machine.files,
      ),
  });
  return {
    client,
    service_url: url,
    credential_paths: [
      ...(folders.credentialsDirectory === null ? [] : [join(folders.credentialsDirectory, "api-key")]),
      ...(keyFile === null ? [] : [keyFile]),
    ],
    prepare: () => transport.prepare(),
    close: () => transport.close(),
  };
}
