import { baseGroup } from "../custom/robot.ts";
import { type Vectors, vectorsOf } from "../custom/vectors.ts";
import type { CatalogRow } from "./catalog.ts";
import type { CatalogType } from "./ids.ts";

/** One line of the list that `catalog` shows. */
export interface CatalogSummary extends CatalogType {
  readonly robot_type_id: string;
  /** Length of the state vector. */
  readonly state_axes: number;
  /** Length of the action vector. */
  readonly action_axes: number;
  readonly control_rate_hz: number;
}

export function summarize(row: CatalogRow): CatalogSummary {
  const { robot_type_id: robotTypeId, display_name: displayName, hosted, control_rate_hz: controlRateHz } = row;
  const { state, action } = catalogAxes(row);
  return {
    robot_type_id: robotTypeId,
    display_name: displayName,
    hosted,
    state_axes: state.length,
    action_axes: action.length,
    control_rate_hz: controlRateHz,
  };
}

/** The vectors in the contract of a robot that extends this type, without limits that the catalog does not know. */
export function catalogAxes(row: CatalogRow): Vectors {
  const vectors = row.groups.map((group) => vectorsOf(baseGroup(group), row));
  return { state: vectors.flatMap(({ state }) => state), action: vectors.flatMap(({ action }) => action) };
}
