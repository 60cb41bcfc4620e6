import { readdirSync, readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { CATALOG_ROWS } from "../../../../src/manifest/catalog/rows.ts";
import { catalogAxes } from "../../../../src/manifest/custom/contract.ts";
import { readCatalog } from "../../../../src/service/models/catalog.ts";
import { incompatibility } from "../../../../src/service/models/obstacles.ts";
import { NO_REQUIREMENTS, type Requirements } from "../../../../src/service/models/requirements.ts";
import {
  catalogEquipment,
  contractEquipment,
  type Equipment,
  parseEquipment,
} from "../../../../src/service/robots/equipment.ts";

const EXAMPLES = new URL("../../../golden/robot-manifest/examples/", import.meta.url);

/** The contract's facts after a round trip through the store. */
function equipmentOf(contract: string): Equipment {
  return parseEquipment(JSON.stringify(contractEquipment(JSON.parse(contract))));
}

function example(name: string): Equipment {
  return equipmentOf(readFileSync(new URL(`${name}.contract.json`, EXAMPLES), "utf8"));
}

/** Requirements in the syntax of a catalog. */
function asks(text: string): Requirements {
  const document = `models: [{slug: m, checkpoints: [{id: ckpt_a, created_at: 2026-01-01, endpoints: [], requirements: ${text}}]}]`;
  const { value: catalog, findings } = readCatalog(Buffer.from(document));
  const requirements = catalog?.models[0]?.checkpoints[0]?.requirements;
  if (requirements === undefined) throw new Error(JSON.stringify(findings));
  return requirements;
}

const SO101 = { robot_type_id: "acme.so101-cell.v1", equipment: example("so101") };
const LEKIWI = { robot_type_id: "acme.lekiwi-garden.v1", equipment: example("lekiwi") };
const BY_ID = (robotTypeId: string) => ({ robot_type_id: robotTypeId, equipment: null });

describe("incompatibility of a robot with a contract", () => {
  it.each([
    ["{}", null],
    ["{robot_types: [acme.so101-cell.v1]}", null],
    ["{robot_types: [yam.v1, acme.so101-cell.v1]}", null],
    ["{robot_types: [yam.v1]}", "needs a robot of type yam.v1; the robot is acme.so101-cell.v1"],
    ["{robot_types: [yam.v1, a.v1]}", "needs a robot of type yam.v1 or a.v1; the robot is acme.so101-cell.v1"],
    ["{camera_roles: [wrist, front]}", null],
    ["{camera_roles: [left]}", "needs a camera with role left; the robot has front, wrist"],
    ["{camera_roles: [left, wrist, right]}", "needs cameras with roles left and right; the robot has front, wrist"],
    ["{action_axes: {count: 6}}", null],
    ["{action_axes: {count: 7}}", "needs 7 action axes; the robot has 6"],
    ["{state_axes: {minimum_count: 7}}", "needs at least 7 state axes; the robot has 6"],
    ["{state_axes: {maximum_count: 5}}", "needs at most 5 state axes; the robot has 6"],
    ["{state_axes: {minimum_count: 2, maximum_count: 5}}", "needs 2 to 5 state axes; the robot has 6"],
    ["{state_axes: {names: [gripper.gripper.position, arm.elbow_flex.position]}}", null],
    [
      "{state_axes: {names: [arm.elbow.position]}}",
      "needs the state axis arm.elbow.position; the robot does not have it",
    ],
    [
      "{state_axes: {names: [a.b.effort, a.c.effort]}}",
      "needs the state axes a.b.effort and a.c.effort; the robot does not have them",
    ],
    ['{action_axes: {units: [rad, "1"]}}', null],
    ["{action_axes: {units: [rad]}}", "needs action axes in rad; the robot's gripper.gripper.position is in 1"],
    [
      "{robot_types: [yam.v1], camera_roles: [left], state_axes: {count: 7}}",
      "needs a robot of type yam.v1; the robot is acme.so101-cell.v1",
    ],
  ])("%s → %s", (requirements, expected) => expect(incompatibility(SO101, asks(requirements))).toBe(expected));

  it("contract differs from its catalog type → the contract counts", () => {
    const robot = { robot_type_id: "droid.franka-panda.v1", equipment: equipmentOf('{"cameras":[{"role":"top"}]}') };
    expect(incompatibility(robot, asks("{camera_roles: [wrist]}"))).toBe(
      "needs a camera with role wrist; the robot has top",
    );
  });

  it("model of arms, robot with a base → names the base's unit", () => {
    expect(incompatibility(LEKIWI, asks('{action_axes: {units: [rad, "1"]}}'))).toBe(
      "needs action axes in rad or 1; the robot's base.x.velocity is in m/s",
    );
  });
});

describe("incompatibility of a robot by its type alone", () => {
  it.each([
    // The installer of an SO-101 chooses its cameras, so none can be reported as missing.
    ["lerobot.so101-follower.v1", "{camera_roles: [wrist], action_axes: {count: 6}}", null],
    ["lerobot.so101-follower.v1", "{action_axes: {count: 7}}", "needs 7 action axes; the robot has 6"],
    ["droid.franka-panda.v1", "{camera_roles: [wrist, exterior], action_axes: {names: [arm.joint_7.velocity]}}", null],
    ["droid.franka-panda.v1", "{camera_roles: [top]}", "needs a camera with role top; the robot has exterior, wrist"],
    ["bridge.widowx-250.v1", '{action_axes: {names: [eef.yaw.delta], units: [m, rad, "1"]}}', null],
    ["unitree.g1-dex3.v1", "{state_axes: {maximum_count: 32}}", null],
    // Its grippers report radians; the sent value is an aperture.
    [
      "unitree.g1-dex1.v1",
      "{state_axes: {units: [rad]}}",
      "needs state axes in rad; the robot's left_gripper.gripper.position is in 1",
    ],
    // A custom type, of which only the name is known.
    ["acme.arm.v1", "{camera_roles: [wrist], action_axes: {count: 6}}", null],
    ["acme.arm.v1", "{robot_types: [acme.arm.v2]}", "needs a robot of type acme.arm.v2; the robot is acme.arm.v1"],
    ["__proto__", "{camera_roles: [wrist]}", null],
  ])("%s, %s → %s", (robotTypeId, requirements, expected) => {
    expect(incompatibility(BY_ID(robotTypeId), asks(requirements))).toBe(expected);
  });
});

describe("incompatibility with a hostile contract", () => {
  const ALL = asks("{camera_roles: [wrist], state_axes: {count: 1}, action_axes: {units: [rad]}}");

  it.each([
    ["{}", "needs a camera with role wrist; the robot has none"],
    ["[]", "needs a camera with role wrist; the robot has none"],
    ["7", "needs a camera with role wrist; the robot has none"],
    ['{"cameras":{"role":"wrist"}}', "needs a camera with role wrist; the robot has none"],
    ['{"cameras":["wrist",null,{"role":7},{}]}', "needs a camera with role wrist; the robot has none"],
    ['{"cameras":[{"role":"wrist"}],"state_axes":[7,{"name":1}]}', "needs 1 state axis; the robot has 0"],
    [
      '{"cameras":[{"role":"wrist"}],"state_axes":[{"name":"a"}],"action_axes":[{"name":"b","unit":1}]}',
      "needs action axes in rad; the robot's b names no unit",
    ],
  ])("%s → %s", (contract, expected) => {
    expect(incompatibility({ robot_type_id: "acme.arm.v1", equipment: equipmentOf(contract) }, ALL)).toBe(expected);
  });

  it("any names → one short line without control characters", () => {
    const cameras = Array.from({ length: 5000 }, (_, index) => ({ role: `\u001B[31m\n${"x".repeat(1000)}${index}` }));
    const contract = JSON.stringify({ cameras, action_axes: [{ name: "\u202E", unit: "\0".repeat(999) }] });
    const robot = { robot_type_id: "t".repeat(256), equipment: equipmentOf(contract) };
    const sentences = [
      incompatibility(robot, asks("{camera_roles: [wrist]}")),
      incompatibility(robot, asks("{action_axes: {units: [rad]}}")),
      incompatibility(robot, asks("{robot_types: [a]}")),
    ];
    for (const sentence of sentences) {
      expect(sentence).toMatch(/^[^\p{Cc}\p{Cf}]{1,1500}$/u);
    }
    expect(sentences[0]).toContain("and 4992 more");
  });

  it("any contract → never throws; no requirements → compatible", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.json({ maxDepth: 4 }), fc.string(), (member, whole, robotTypeId) => {
        const contracts = [`{"cameras":${member},"state_axes":${member},"action_axes":${member}}`, whole];
        for (const contract of contracts) {
          const robot = { robot_type_id: robotTypeId, equipment: equipmentOf(contract) };
          expect(incompatibility(robot, NO_REQUIREMENTS)).toBeNull();
          expect(incompatibility(robot, ALL)).toMatch(/^needs /);
        }
      }),
    );
  });
});

describe("catalogEquipment", () => {
  it.each(CATALOG_ROWS.map((row) => [row.robot_type_id, row] as const))("%s → as many axes as its row", (id, row) => {
    const { state_axes: stateAxes, action_axes: actionAxes } = catalogAxes(row);
    const known = catalogEquipment(id);
    expect([known.state_axes?.length, known.action_axes?.length]).toEqual([stateAxes.length, actionAxes.length]);
  });

  it.each([
    ["aloha", "trossen.aloha-bimanual.v1"],
    ["franka-droid", "droid.franka-panda.v1"],
    ["g1-dex3", "unitree.g1-dex3.v1"],
    ["lekiwi", "lerobot.lekiwi.v1"],
    ["so101", "lerobot.so101-follower.v1"],
    ["widowx", "bridge.widowx-250.v1"],
  ])("contract of the example %s → the axes of %s, by name, unit and order", (name, robotTypeId) => {
    const ofContract = example(name);
    const ofType = catalogEquipment(robotTypeId);
    // Limits are each robot's own.
    const shape = (axes: Equipment["state_axes"]) => axes?.map(({ name, unit, native }) => [name, unit, native]);
    expect(shape(ofType.state_axes)).toEqual(shape(ofContract.state_axes));
    expect(shape(ofType.action_axes)).toEqual(shape(ofContract.action_axes));
    if (ofType.camera_roles !== null) expect(ofType.camera_roles).toEqual(ofContract.camera_roles);
  });

  it("all example contracts are compared", () => {
    const names = readdirSync(EXAMPLES).filter((name) => name.endsWith(".contract.json"));
    expect(names).toHaveLength(7);
  });
});

describe("the example catalog", () => {
  const { value: catalog } = readCatalog(
    readFileSync(new URL("../../../../config/models.example.yaml", import.meta.url)),
  );
  const checkpoints = catalog?.models.flatMap((model) => model.checkpoints) ?? [];

  it("pi0.5 → every robot of the ready catalog; other models → those that they were made for", () => {
    const driven = checkpoints.map(({ id, requirements }) => [
      id,
      CATALOG_ROWS.filter(
        ({ robot_type_id: robotTypeId }) => incompatibility(BY_ID(robotTypeId), requirements) === null,
      ).map(({ robot_type_id: robotTypeId }) => robotTypeId),
    ]);
    expect(driven).toEqual([
      ["ckpt_pi05_base", CATALOG_ROWS.map(({ robot_type_id: robotTypeId }) => robotTypeId)],
      ["ckpt_pi05_droid", ["droid.franka-panda.v1"]],
      ["ckpt_smolvla_so101", ["lerobot.so101-follower.v1"]],
      ["ckpt_act_packing_1", ["trossen.aloha-bimanual.v1"]],
      ["ckpt_act_packing_2", ["trossen.aloha-bimanual.v1"]],
    ]);
  });
});
