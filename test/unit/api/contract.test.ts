import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { type RobotContract, robotContractSchema } from "../../../src/api/contract.ts";

const example = new URL("../../golden/robot-manifest/examples/so101.contract.json", import.meta.url);
const contract = robotContractSchema.parse(JSON.parse(readFileSync(example, "utf8")));
const [group] = contract.groups;
const [axis] = contract.state_axes;
const [camera] = contract.cameras;
if (group === undefined || axis === undefined || camera === undefined) throw new Error("the example has one of each");

/** `path: message` of each contradiction in the example with these members. */
function contradictionsOf(members: Partial<RobotContract>): readonly string[] {
  const { error } = robotContractSchema.safeParse({ ...contract, ...members });
  return error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
}

describe("robotContractSchema", () => {
  test("duplicate names of groups, axes in a vector, or cameras → refused", () => {
    expect(contradictionsOf({ groups: [...contract.groups, group] })).toEqual([
      `groups.${contract.groups.length}.name: ${group.name} is the name at index 0 already`,
    ]);
    expect(contradictionsOf({ state_axes: [...contract.state_axes, axis] })).toEqual([
      `state_axes.${contract.state_axes.length}.name: ${axis.name} is the name at index 0 already`,
    ]);
    expect(contradictionsOf({ cameras: [...contract.cameras, camera] })).toEqual([
      `cameras.${contract.cameras.length}.role: ${camera.role} is the name at index 0 already`,
    ]);
  });

  test("axis of an unknown group → refused", () => {
    expect(contradictionsOf({ state_axes: [{ ...axis, name: "tail.a.position" }] })).toEqual([
      "state_axes.0.name: no group is called tail",
    ]);
  });

  test("unit that does not fit the quantity → refused", () => {
    const name = `${group.name}.a.velocity`;
    expect(contradictionsOf({ action_axes: [{ name, unit: "rad" }] })).toEqual([
      "action_axes.0.unit: a velocity is in rad/s or m/s",
    ]);
    expect(contradictionsOf({ action_axes: [{ name, unit: "m/s" }] })).toEqual([]);
  });

  test("range in descending order → refused", () => {
    expect(contradictionsOf({ state_axes: [{ ...axis, range: [1, 1] }] })).toEqual([
      "state_axes.0.range: the first number must be below the second",
    ]);
    expect(contradictionsOf({ state_axes: [{ ...axis, range: [-1, 1] }] })).toEqual([]);
  });

  test("scale of 0 → refused", () => {
    const native = { unit: "deg", scale: 0, offset: 0 } as const;
    expect(contradictionsOf({ state_axes: [{ ...axis, native }] })).toEqual([
      "state_axes.0.native.scale: 0 makes every number the same",
    ]);
  });
});
