/** What operators see of the contract of a robot: its cameras, and its axes in vector order. */
import type { RobotContract } from "../api/contract.ts";
import { type Column, type Fact, inWords } from "./view.ts";

type Camera = RobotContract["cameras"][number];
type Axis = RobotContract["action_axes"][number] & { readonly index: number };

export function contractFacts(contract: RobotContract): readonly Fact[] {
  return [
    ["name", contract.display_name ?? null],
    ["topology", inWords(contract.topology)],
    ["actions", inWords(contract.action_semantics)],
    ["gripper", contract.gripper],
    ["control rate", `${contract.control_rate_hz} Hz`],
    ["groups", contract.groups.map(({ name, kind }) => `${name} (${kind})`).join(", ")],
  ];
}

export const CAMERAS: readonly Column<Camera>[] = [
  { name: "role", show: ({ role }) => role },
  { name: "mount", show: ({ mount, side }) => (side === undefined ? mount : `${mount}, ${side}`) },
  { name: "image", show: ({ width, height }) => `${width} × ${height} px` },
  { name: "rate", show: ({ fps }) => `${fps} fps` },
  { name: "turned", show: ({ rotation_degrees: degrees }) => (degrees === 0 ? null : `${degrees}°`) },
];

/** Numbered by their index in the vector. */
export function numbered(axes: readonly Omit<Axis, "index">[]): readonly Axis[] {
  return axes.map((axis, index) => ({ ...axis, index }));
}

export const AXES: readonly Column<Axis>[] = [
  { name: "#", show: ({ index }) => index },
  { name: "axis", show: ({ name }) => name },
  { name: "unit", show: ({ unit }) => (unit === "1" ? "ratio" : unit) },
  {
    name: "range",
    show: ({ range }) => (range === undefined ? null : `${sixDigits(range[0])} … ${sixDigits(range[1])}`),
  },
  { name: "largest step", show: ({ max_step: step }) => (step === undefined ? null : sixDigits(step)), from: "wide" },
  {
    name: "from the robot's own numbers",
    show: ({ native }) => (native === undefined ? "the same" : nativeText(native)),
    from: "wide",
  },
];

/** Same form as `robot-policy-agent contract`: canonical = scale × native + offset. */
function nativeText({ unit, scale, offset }: NonNullable<Axis["native"]>): string {
  const product = `${sixDigits(scale)} × ${unit}`;
  if (offset === 0) return product;
  return offset > 0 ? `${product} + ${sixDigits(offset)}` : `${product} − ${sixDigits(-offset)}`;
}

/** Six digits: a micrometre in a metre. */
function sixDigits(value: number): string {
  return String(Number(value.toPrecision(6)));
}
