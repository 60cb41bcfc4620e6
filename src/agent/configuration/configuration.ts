/**
 * The agent's configuration: how to reach the service, the identity of the robot, the path of its manifest. It belongs to the installation;
 * the manifest describes the robot itself.
 *
 * The same strict reader as for the manifest reads it and reports all findings at once. The result has every default filled in, and its
 * members have the names of the keys.
 */
import { dirname, join } from "node:path";

import type * as z from "zod";

import { isLoopback } from "../../client/transport/service-url.ts";
import { type Doubt, readSettings, type SettingsReading } from "../../documents/read.ts";
import { type JsonSchema, jsonSchema } from "../../documents/schemas.ts";
import { CONFIGURATION, MANIFEST_NAME } from "./keys.ts";

export interface AgentConfiguration extends Readonly<z.output<typeof CONFIGURATION>> {
  /** Absolute path of the robot manifest. */
  readonly manifest: string;
}

export const CONFIGURATION_LIMIT_BYTES = 1_048_576;
/** Names of these keys in other agents and older versions. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["robot_type_id", "it belongs to the robot manifest, robot-manifest.yaml"],
  ["configuration_files", "it belongs to the robot manifest, robot-manifest.yaml"],
]);

const RULES = {
  subject: "configuration",
  sizeLimitBytes: CONFIGURATION_LIMIT_BYTES,
  secretAdvice: ": put it into a file of its own and name that as service.key_file",
  hints: HINTS,
} as const;

/** Reads a configuration and reports all findings. @param path of the file, absolute: the manifest is beside it by default. */
export function readConfiguration(bytes: Uint8Array, path: string): SettingsReading<AgentConfiguration> {
  const { value, ...reading } = readSettings(bytes, RULES, CONFIGURATION, doubtsOf);
  const manifest = value?.manifest ?? join(dirname(path), MANIFEST_NAME);
  return { ...reading, value: value === null ? null : { ...value, manifest } };
}

function doubtsOf({ service }: z.output<typeof CONFIGURATION>): readonly Doubt[] {
  const { protocol, hostname } = new URL(service.url);
  if (protocol !== "http:" || isLoopback(hostname)) return [];
  const message = "allow_insecure sends the API key unencrypted: anyone on the network path can read it";
  return [{ id: "unencrypted_service", path: ["service", "url"], message }];
}

/** The placeholders of a name template. */
export interface NameFacts {
  readonly hostname: string;
  readonly machineId: string;
}

/** The robot's name. The caller checks its length. */
export function expandName(template: string, facts: NameFacts): string {
  return template.replaceAll(/\{(hostname|machine_id)\}/g, (_, fact) =>
    fact === "hostname" ? facts.hostname : facts.machineId,
  );
}

/** JSON Schema (2020-12) of the agent's configuration, for editors. `check` reports more errors than a schema can. */
export function configurationSchema(): JsonSchema {
  return jsonSchema(
    CONFIGURATION,
    "Configuration of robot-policy-agent",
    "How to reach the service, who this robot is, and where its manifest lies.",
  );
}
