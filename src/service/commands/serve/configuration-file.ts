import type { Files } from "../../../platform/files/files.ts";
import {
  type Configuration,
  CONFIGURATION_LIMIT_BYTES,
  DEFAULTS,
  readConfiguration,
} from "../../configuration/configuration.ts";
import { type FileFindings, readEditedFile } from "../../kernel/edited-file.ts";

const RULES = {
  subject: "configuration",
  example: "config/service.example.yaml",
  limitBytes: CONFIGURATION_LIMIT_BYTES,
};

export type FileReading =
  | { readonly state: "read"; readonly configuration: Configuration; readonly warnings: FileFindings | null }
  | { readonly state: "invalid"; readonly file: FileFindings };

const NO_FILE: FileReading = { state: "read", configuration: DEFAULTS, warnings: null };

/** Reads the configuration file of `--config`; without that flag, all defaults. */
export async function readConfigurationFile(path: string | undefined, files: Files): Promise<FileReading> {
  if (path === undefined) return NO_FILE;
  const bytes = await readEditedFile(files, path, RULES);
  if (!(bytes instanceof Uint8Array)) return { state: "invalid", file: { path, bytes: null, findings: [bytes] } };
  const { value: configuration, findings } = readConfiguration(bytes);
  const file = { path, bytes, findings };
  if (configuration === null) return { state: "invalid", file };
  return { state: "read", configuration, warnings: findings.length === 0 ? null : file };
}
