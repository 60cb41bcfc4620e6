import type { RobotContract } from "./contract.ts";
import { CONTRACT_SCHEMA } from "./robot-terms.ts";

/** Whether a stored value is a contract of this version: it was validated before. Loaded at boot, so without the schemas of a contract. */
export function isContract(value: object): value is RobotContract {
  return "schema" in value && value.schema === CONTRACT_SCHEMA;
}
