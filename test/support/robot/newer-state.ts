import { fletcher64 } from "../../../src/agent/registration/fletcher64.ts";

/** A state file as an agent of a later version leaves it: what it holds is for that agent to know. */
export function stateOfNewerAgent(schemaVersion: number): string {
  const sealed = { schema_version: schemaVersion, registration: { form: "unknown" } };
  return JSON.stringify({ ...sealed, checksum: fletcher64(Buffer.from(JSON.stringify(sealed))) });
}
