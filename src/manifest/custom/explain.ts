/** Explains each number of a contract: the value in the manifest, its line or base type, and the conversion. */
import type { Pair, Spot } from "./body.ts";
import type { ActionAxis, Contract, StateAxis } from "./contract.ts";
import { formulaOf, rangeText, withUnit } from "./diff.ts";
import { actionOf, boundedIndex, elementsOf, isInherited, scalarAt, stateOf } from "./group.ts";
import type { CompleteGroup, Robot } from "./robot.ts";

export interface AxisExplanation {
  readonly vector: "state" | "action";
  /** From 0, as programs count vector elements. */
  readonly index: number;
  readonly name: string;
  /** How a native number becomes a canonical one. */
  readonly conversion: string;
  readonly range: string;
  /** The positions of unit, range and speed. */
  readonly sources: readonly string[];
}

/** @param line the line of an offset in the manifest, from 1. */
export function explainContract(
  robot: Robot,
  contract: Contract,
  line: (offset: number) => number,
): readonly AxisExplanation[] {
  const groups = robot.groups.value;
  const place = (spot: Spot) =>
    isInherited(spot) ? `from ${robot.base_id ?? "the base"}` : `line ${line(spot.offset)}`;
  const explain = (vector: "state" | "action", owners: readonly Owner[], axes: readonly (StateAxis | ActionAxis)[]) =>
    axes.flatMap((axis, index): readonly AxisExplanation[] => {
      const owner = owners[index];
      if (owner === undefined) return [];
      return [
        {
          vector,
          index,
          name: axis.name,
          conversion:
            axis.native === undefined
              ? `${axis.unit === "1" ? "" : `${axis.unit}, `}as the driver has it`
              : `${axis.unit === "1" ? "canonical" : axis.unit} = ${formulaOf(axis.native)}`,
          range: describeRange(axis),
          sources: sourcesOf(owner, place),
        },
      ];
    });
  const semantics = robot.action_semantics.value;
  const states = groups.flatMap((group) => stateOf(group).flatMap((quantity) => ownersOf(group, quantity, false)));
  const actions = groups.flatMap((group) => {
    const action = actionOf(group, semantics);
    return action === "none" ? [] : ownersOf(group, action, true);
  });
  return [...explain("state", states, contract.state_axes), ...explain("action", actions, contract.action_axes)];
}

/** The group that an axis of a quantity belongs to. */
interface Owner {
  readonly group: CompleteGroup;
  readonly index: number;
  readonly quantity: "position" | "velocity" | "effort" | "delta";
  /** Only commands can be normalized, and only commanded positions have a largest step. */
  readonly isCommand: boolean;
}

function ownersOf(group: CompleteGroup, quantity: Owner["quantity"], isCommand: boolean): readonly Owner[] {
  return elementsOf(group).map((_, index) => ({ group, index, quantity, isCommand }));
}

function describeRange(axis: StateAxis & Pick<ActionAxis, "max_step">): string {
  const step = axis.max_step === undefined ? "" : `, at most ${withUnit(axis.max_step, axis)} a step`;
  return `${rangeText(axis)}${step}`;
}

function sourcesOf({ group, index, quantity, isCommand }: Owner, place: (spot: Spot) => string): readonly string[] {
  const { limits, aperture, normalized } = group;
  const position = limits?.value.position;
  const pair = quantity === "position" ? (position?.value[index] ?? null) : null;
  const element = elementsOf(group)[index];
  const bounded = element === undefined ? -1 : boundedIndex(group, element);
  const velocity = limits?.value.velocity;
  const speed = velocity && scalarAt(velocity.value, bounded);
  const fullScale = normalized && scalarAt(normalized.value.full_scale.value, bounded);
  const unit = element?.unit ?? null;
  const limitUnit = limits?.value.unit?.value ?? unit;
  return [
    unitSource(group, index, place),
    ...(aperture === undefined
      ? []
      : [`closed ${aperture.value.closed}, open ${aperture.value.open}: ${place(aperture)}`]),
    ...(pair === null ? [] : [`${limitsText(pair.value, limitUnit)}: ${place(pair)}`]),
    ...(speed === undefined || unit === null || quantity === "effort" || (quantity === "position" && !isCommand)
      ? []
      : [`speed ${speed} ${limitUnit} a second: ${place(velocity ?? group)}`]),
    ...(fullScale === undefined || !isCommand
      ? []
      : [`full scale ${fullScale} ${unit} a ${normalized?.value.per}: ${place(normalized ?? group)}`]),
  ];
}

function limitsText([low, high]: Pair, unit: string | null): string {
  return Number.isFinite(low) ? `limits ${low} to ${high} ${unit}` : "continuous";
}

function unitSource(group: CompleteGroup, index: number, place: (spot: Spot) => string): string {
  const unit = elementsOf(group)[index]?.unit ?? null;
  if (unit === null) return "unit: none, part of a rotation";
  const { angle_unit: angleUnit } = group;
  const hasAngleUnit = group.kind.value === "base" || group.kind.value === "eef";
  const isAngle = hasAngleUnit && (unit === "rad" || unit === "deg");
  const spot = isAngle ? angleUnit : group.unit;
  const key = isAngle ? "angle_unit" : "unit";
  return spot === undefined ? `${key} ${unit}: by default` : `${key} ${unit}: ${place(spot)}`;
}
