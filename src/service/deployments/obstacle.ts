import { parseJson } from "../json/parse-json.ts";
import { incompatibility } from "../models/compatibility.ts";
import { parseRequirements } from "../models/requirements.ts";

/**
 * Why a robot cannot run a checkpoint, in one sentence for a person, or null when it can.
 *
 * @param contract JSON as the store keeps it, or null.
 * @param requirements JSON as the store keeps it.
 */
export function obstacleOf(robot_type_id: string, contract: string | null, requirements: string): string | null {
  return incompatibility({ robot_type_id, contract: readContract(contract) }, parseRequirements(requirements));
}

function readContract(contract: string | null) {
  const parsed = contract === null ? null : parseJson(contract);
  return parsed?.state === "parsed" ? parsed.value : null;
}
