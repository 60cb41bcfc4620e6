/**
 * Custom robot types: a manifest that describes its robot itself, or extends a catalog type, is normalized to a contract.
 *
 * shape.ts reads each key (stage 3 of the specification), robot.ts adds the base's values (4), fit.ts checks each group against its kind (5),
 * rules.ts checks values and the whole robot (6). A stage with an error is the last one. normalize.ts makes the contract.
 * Loaded for such manifests only: a robot of a catalog type boots without it.
 */
import { CATALOG_ROWS } from "../catalog/rows.ts";
import type { Fields } from "../fields.ts";
import type { FindingList } from "../finding-list.ts";
import { readKeys } from "../keys.ts";
import type { Body, Spot } from "./body.ts";
import type { ContractPath } from "./contract-sources.ts";
import { contractSource } from "./contract-sources.ts";
import type { ActionAxis, Contract } from "./contract.ts";
import { explainContract } from "./explain.ts";
import type { AxisExplanation } from "./explain.ts";
import { checkFit } from "./fit.ts";
import { normalize } from "./normalize.ts";
import type { TypeId } from "./robot.ts";
import { completeRobot } from "./robot.ts";
import { checkRules } from "./rules.ts";
import { BODY } from "./shape.ts";

/** Stage 3: reads the body keys. */
export function readCustomBody(fields: Fields): Body {
  return readKeys(fields, BODY);
}

export interface CustomType {
  readonly type_id: TypeId;
  readonly display_name: string | null;
  readonly body: Body;
  /** The document's own mapping. */
  readonly root: Spot;
}

export interface DescribedRobot {
  readonly contract: Contract;
  /** The source of each number. */
  explain(): readonly AxisExplanation[];
  /** JSON Pointer to the part of the manifest that determines a part of the contract. */
  source(path: ContractPath): string;
}

/** Stages 4 to 6 and the contract; null when a finding is an error. */
export function describeRobot(
  { type_id: typeId, display_name: displayName, body, root }: CustomType,
  findings: FindingList,
): DescribedRobot | null {
  const robot = completeRobot(typeId, body, root, CATALOG_ROWS, findings);
  if (robot === undefined || findings.hasError) return null;
  checkFit(robot, findings);
  if (findings.hasError) return null;
  checkRules(robot, findings);
  if (findings.hasError) return null;
  const contract = normalize(robot, displayName);
  if (!isFinite(contract)) {
    const { path, offset } = robot.groups;
    const message =
      "numbers this small leave nothing of others, or make them too large: look at limits, apertures and the rate";
    findings.error("not_finite", path, offset, message);
    return null;
  }
  return {
    contract,
    explain: () => explainContract(robot, contract, (offset) => findings.line(offset)),
    source: (path) => contractSource(robot, contract, path),
  };
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
