/**
 * Custom robot types: a manifest that describes its robot itself, or extends a catalog type, is normalized to a contract.
 *
 * shape.ts has each key (stage 3 of the specification), robot.ts adds the base's values (4), fit.ts checks each group against its kind (5),
 * rules.ts checks values and the whole robot (6). A stage with an error is the last one. normalize.ts makes the contract.
 * Loaded for such manifests only: a robot of a catalog type boots without it.
 */
import type { FindingList } from "../../documents/findings.ts";
import { CATALOG_ROWS } from "../catalog/rows.ts";
import type { ActionAxis, Contract } from "./contract.ts";
import { checkFit } from "./fit.ts";
import { normalize } from "./normalize.ts";
import { completeRobot, isInherited, pathOf } from "./robot.ts";
import { checkRules } from "./rules.ts";
import type { Body } from "./shape.ts";

export { CUSTOM_MANIFEST } from "./shape.ts";

interface CustomType extends Body {
  readonly robot_type_id: string;
  readonly display_name: string | null;
}

interface DescribedRobot {
  readonly contract: Contract;
  /** The extended type, where the unit of an arm is from it. */
  readonly unit_from: string | null;
}

/** Stages 4 to 6 and the contract; null when a finding is an error. */
export function describeRobot(custom: CustomType, findings: FindingList): DescribedRobot | null {
  const { robot_type_id: typeId, display_name: displayName, ...body } = custom;
  const robot = completeRobot(typeId, body, CATALOG_ROWS, findings);
  if (robot === undefined || findings.hasError) return null;
  checkFit(robot, findings);
  if (findings.hasError) return null;
  checkRules(robot, findings);
  if (findings.hasError) return null;
  const contract = normalize(robot, displayName);
  if (!isFinite(contract)) {
    const message =
      "numbers this small leave nothing of others, or make them too large: look at limits, apertures and the rate";
    findings.error("not_finite", pathOf(robot, "groups"), message);
    return null;
  }
  const isUnitInherited = robot.groups.some(
    (group) => group.kind === "arm" && group.unit !== undefined && isInherited(group, "unit"),
  );
  return { contract, unit_from: isUnitInherited ? (robot.base_id ?? null) : null };
}

/** A tiny rate or aperture makes a quotient infinite, and a tiny value rounds to 0. JSON cannot carry an infinite number. */
function isFinite({ state_axes: stateAxes, action_axes: actionAxes }: Contract): boolean {
  const axes: readonly ActionAxis[] = [...stateAxes, ...actionAxes];
  return axes.every(
    ({ range: [low, high] = [0, 1], native, max_step: maxStep = 1 }) =>
      [low, high, native?.scale ?? 1, native?.offset ?? 0, maxStep].every(Number.isFinite) &&
      low < high &&
      native?.scale !== 0 &&
      maxStep > 0,
  );
}
