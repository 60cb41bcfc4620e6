/** The normalized contract, version 1, which is sent for a custom robot type. src/api/contract.ts defines its members. */
import type { RobotContract } from "../../api/contract.ts";
import { CONTRACT_SCHEMA } from "../../api/robot-terms.ts";
import type { StateQuantity } from "./body.ts";

export type Contract = RobotContract;
export type ContractGroup = Contract["groups"][number];
export type StateAxis = Contract["state_axes"][number];
export type ActionAxis = Contract["action_axes"][number];
export type ContractCamera = Contract["cameras"][number];
export type AxisUnit = StateAxis["unit"];
export type AxisQuantity = StateQuantity | "delta";

/** Whether a stored value is a contract of this version. It was validated before it was stored. */
export function isContract(value: object): value is Contract {
  return "schema" in value && value.schema === CONTRACT_SCHEMA;
}
