/**
 * The agent's configuration: how to reach the service, the identity of the robot, the path of its manifest. It belongs to the installation;
 * the manifest describes the robot itself.
 *
 * The same strict reader as for the manifest reads it and reports all findings at once. The result has every default filled in, and its
 * members have the names of the keys.
 */
import { dirname, join } from "node:path";

import type { Reader, Schema } from "../../documents/fields.ts";
import { keysReader, mappingSchema, type ValuesOf } from "../../documents/keys.ts";
import { readSettings, type SettingsReading } from "../../documents/settings.ts";
import {
  KEYS,
  type LOG,
  MANIFEST_NAME,
  type RobotConfiguration,
  type ServiceConfiguration,
  type WATCH,
} from "./keys.ts";

export interface AgentConfiguration {
  readonly service: ServiceConfiguration;
  readonly robot: RobotConfiguration;
  /** Absolute path of the robot manifest. */
  readonly manifest: string;
  readonly watch: ValuesOf<typeof WATCH>;
  readonly log: ValuesOf<typeof LOG>;
}

export const CONFIGURATION_LIMIT_BYTES = 1_048_576;
/** Names of these keys in other agents and older versions. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ["robot_type_id", "it belongs to the robot manifest, robot-manifest.yaml"],
  ["configuration_files", "it belongs to the robot manifest, robot-manifest.yaml"],
]);

const SECRET_ADVICE = ": put it into a file of its own and name that as service.key_file";

export interface ConfigurationContext {
  /** Absolute path of the file; the default path of the manifest is in the same folder. */
  readonly path: string;
}

/** Reads a configuration and reports all findings. */
export function readConfiguration(
  bytes: Uint8Array,
  context: ConfigurationContext,
): SettingsReading<AgentConfiguration> {
  const rules = {
    subject: "configuration",
    sizeLimitBytes: CONFIGURATION_LIMIT_BYTES,
    secretAdvice: SECRET_ADVICE,
    hints: HINTS,
  } as const;
  return readSettings(bytes, rules, readRoot(context));
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

function readRoot({ path }: ConfigurationContext): Reader<AgentConfiguration> {
  return keysReader(KEYS, ({ service, robot, manifest = join(dirname(path), MANIFEST_NAME), ...others }) =>
    service === undefined || robot === undefined ? undefined : { service, robot, manifest, ...others },
  );
}

/** JSON Schema (2020-12) of the agent's configuration, for editors. `check` reports more errors than a schema can. */
export function configurationSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of robot-policy-agent",
    description: "How to reach the service, who this robot is, and where its manifest lies.",
    ...mappingSchema(KEYS),
  };
}
