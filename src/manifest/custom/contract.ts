/** The normalized contract, version 1, which is sent for a custom robot type. src/api/contract.ts defines its members. */
import type { RobotContract } from "../../api/contract.ts";
import type { StateQuantity } from "./body.ts";

export type Contract = RobotContract;
export type ContractGroup = Contract["groups"][number];
export type StateAxis = Contract["state_axes"][number];
export type ActionAxis = Contract["action_axes"][number];
export type ContractCamera = Contract["cameras"][number];
export type AxisUnit = StateAxis["unit"];
export type AxisQuantity = StateQuantity | "delta";
