/** The normalized contract, version 1: what is sent of a custom robot type. src/api/contract.ts says what is in it. */
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

/** Whether a value that was stored is a contract of this version; what made it was checked then. */
export function isContract(value: object): value is Contract {
  return "schema" in value && value.schema === CONTRACT_SCHEMA;
}
