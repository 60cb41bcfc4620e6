/** The normalized contract, version 1, which is sent for a custom robot type. src/api/contract.ts defines its members. */
import canonicalize from "canonicalize";

import type { RobotContract } from "../../api/contract.ts";
import { sha256Hex } from "../../platform/crypto.ts";

export type Contract = RobotContract;
export type StateAxis = Contract["state_axes"][number];
export type ActionAxis = Contract["action_axes"][number];

/** The contract as canonical JSON (RFC 8785): equal contracts give equal bytes. */
export function contractText(contract: Contract): string {
  const text = canonicalize(contract);
  if (text === undefined) throw new TypeError("A contract is always an object");
  return text;
}

/** `sha256:` and the hex digest of the canonical text. Used locally to detect changes, and not sent to the service. */
export function contractDigest(contract: Contract): string {
  return `sha256:${sha256Hex(contractText(contract))}`;
}
