import { checksum } from "../../../src/agent/registration/state-file.ts";

/** A file of the state, of any name, of a later agent version, whose content this version cannot interpret. */
export function stateOfNewerAgent(schemaVersion: number): string {
  const registration = { form: "unknown" };
  const sealed = {
    schema_version: schemaVersion,
    checksum: checksum(schemaVersion, registration),
    registration,
    content: registration,
  };
  return JSON.stringify(sealed);
}
