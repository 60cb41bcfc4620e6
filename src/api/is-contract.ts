import type { RobotContract } from "./contract.ts";
import { CONTRACT_SCHEMA } from "./robot-terms.ts";

/** Whether a stored value is a contract of this version. It was validated before it was stored. */
export function isContract(value: object): value is RobotContract {
  return "schema" in value && value.schema === CONTRACT_SCHEMA;
}
