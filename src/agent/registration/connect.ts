import { join } from "node:path";

import { createClient } from "../../client/client.ts";
import {
  type Credential,
  type CredentialProblem,
  type CredentialSources,
  KEY_VARIABLE,
  loadCredential,
} from "../../client/credential.ts";
import { Secret } from "../../client/secret.ts";
import type { ServiceAccess } from "../../client/send-request.ts";
import type { Transport } from "../../client/transport/transport.ts";
import { createUndiciTransport } from "../../client/transport/undici-transport.ts";
import type { Machine } from "../../platform/machine.ts";
import type { AgentConfiguration } from "../configuration/configuration.ts";
import type { Folders } from "../configuration/folders.ts";
import type { ServiceConfiguration } from "../configuration/keys.ts";
import { identityCredentialPath, readOwnIdentity } from "../identity/identity-files.ts";

/** The way to the service of a configuration. */
export type Connection = ReturnType<typeof connect>;

export interface AccessOptions {
  readonly machine: Machine;
  /** For proxies, and for the key at provisioning. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** The network of a simulated machine; the real network when absent. */
  openTransport?(): Transport;
}

export interface ConnectOptions extends AccessOptions {
  readonly folders: Folders;
  readonly userId: number;
}

/** The robot's own credential for a service; null for a robot that uses its API key. */
export type OwnCredential = (serviceUrl: string) => Credential | CredentialProblem | null;

/**
 * The client for a configuration: service, route and credential. Opens nothing yet.
 *
 * @param ownCredential what the running agent holds.
 */
export function connect(
  { service }: Pick<AgentConfiguration, "service">,
  options: ConnectOptions,
  ownCredential: OwnCredential,
) {
  const { machine, folders, environment, userId } = options;
  const { url, key_file: keyFile, ca_file: caFile } = service;
  const access = openAccess(service, options);
  const { credentialsDirectory } = folders;
  const apiKey = () =>
    loadCredential({ ...keySources(service, folders, environment), serviceUserId: userId }, machine.files);
  return {
    client: createClient({ ...access, credential: async () => ownCredential(url) ?? apiKey() }),
    /** For requests about the robot's identity. */
    access,
    /** Whether there is an API key that could be used. */
    hasApiKey: async () => (await apiKey()).kind === "credential",
    /** The user that this program runs as. */
    userId,
    serviceUrl: url,
    /** Changes with every edit of the configuration's `service` section. */
    route: JSON.stringify(service),
    /** Files that belong to the route; watched so that a correction is noticed. */
    routePaths: caFile === null ? [] : [caFile],
    /** Files that may contain the key; watched so that a new key is noticed. */
    credentialPaths: [
      ...(credentialsDirectory === null ? [] : [join(credentialsDirectory, "api-key")]),
      ...(keyFile === null ? [] : [keyFile]),
    ],
    /** Loads the code for a request that is likely soon. */
    prepare: () => access.transport.prepare(),
    close: () => access.transport.close(),
  };
}

/** Where the API key of a configuration may be. */
export function keySources(
  service: Pick<ServiceConfiguration, "key_file"> | null,
  folders: Pick<Folders, "credentialsDirectory">,
  environment: ConnectOptions["environment"],
): Omit<CredentialSources, "serviceUserId"> {
  return {
    credentialsDirectory: folders.credentialsDirectory ?? undefined,
    keyFile: service?.key_file ?? undefined,
    environmentKey: environment[KEY_VARIABLE],
  };
}

/** How to send requests to the configured service, in the agent's name: its certificates, and the proxy of the configuration or the environment. */
export function openAccess(
  { url, ca_file: caFile, proxy, allow_insecure: allowInsecure, ...service }: ServiceConfiguration,
  { machine: { files, clock }, environment, version, openTransport }: AccessOptions,
): ServiceAccess {
  const openNetwork = () => createUndiciTransport({ caFile, proxy, allow_insecure: allowInsecure, environment, files });
  return {
    baseUrl: url,
    transport: (openTransport ?? openNetwork)(),
    clock,
    userAgent: `robot-policy-agent/${version}`,
    timeouts: {
      connectMs: service.connect_timeout_s * 1000,
      headersMs: service.headers_timeout_s * 1000,
      totalMs: service.request_timeout_s * 1000,
    },
  };
}

/** As `OwnCredential`, from the state directory. @throws Node system errors, such as EACCES: only the agent's user and root may read it. */
export async function storedCredential(
  { url, identity }: ServiceConfiguration,
  machine: Pick<Machine, "files" | "identity">,
  stateDirectory: string,
): Promise<Credential | CredentialProblem | null> {
  const machineId = await machine.identity.machine();
  const { credential } = await readOwnIdentity(machine.files, stateDirectory, url, machineId);
  const where = identityCredentialPath(stateDirectory);
  if (credential !== null)
    return { kind: "credential", secret: new Secret(credential.installation_token), source: "enrolment", where };
  if (identity !== "enrolled") return null;
  return {
    kind: "credential-problem",
    code: "not-enrolled",
    what: "this robot is not enrolled",
    where,
    fix: "enroll it: sudo robot-policy-agent enroll",
  };
}
