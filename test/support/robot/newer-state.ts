import { checksum } from "../../../src/agent/registration/state-file.ts";

/** A state file as an agent of a later version leaves it: what it holds is for that agent to know. */
export function stateOfNewerAgent(schemaVersion: number): string {
  const registration = { form: "unknown" };
  const sealed = { schema_version: schemaVersion, checksum: checksum(schemaVersion, registration), registration };
  return JSON.stringify(sealed);
}
