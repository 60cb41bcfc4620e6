/** The `contract` of a registration: with our schema name it is validated; any other is stored unchanged. */
import { readdirSync, readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { robotSetupSchema } from "../../../../src/api/robots.ts";
import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";
import { parseJson } from "../../../../src/service/kernel/json/parse-json.ts";
import { validate } from "../../../../src/service/kernel/validation/validation.ts";
import { robotManifest } from "../../../support/robot/robot-manifests.ts";
import { times } from "../../../support/run/tier.ts";

const EXAMPLES = new URL("../../../golden/robot-manifest/examples/", import.meta.url);
const EXAMPLE_CONTRACTS = readdirSync(EXAMPLES).filter((file) => file.endsWith(".contract.json"));
const WIDOWX = "widowx.contract.json";
const SO101 = "so101.contract.json";

type Data = { [name: string]: unknown };

function example(file: string): Data {
  return JSON.parse(readFileSync(new URL(file, EXAMPLES), "utf8"));
}

function register(contract: unknown, robotTypeId: unknown = (contract as Data)["robot_type_id"]) {
  const setup = {
    name: "r1",
    robot_type_id: robotTypeId,
    region: "x",
    configuration_digest: `sha256:${"a".repeat(64)}`,
    contract,
  };
  const text = JSON.stringify(setup);
  const parsed = parseJson(text);
  if (parsed.state !== "parsed") throw new Error("not JSON");
  const validated = validate(robotSetupSchema, parsed.value, ["body"]);
  expect(robotSetupSchema.safeParse(JSON.parse(text)).success).toBe(validated.state === "valid");
  return validated;
}

/** Replaces the value at a path; undefined removes it. */
function edit(data: unknown, [step, ...rest]: Path, to: unknown): unknown {
  if (step === undefined) return to;
  if (Array.isArray(data)) {
    const items: unknown[] = [...data];
    items[Number(step)] = edit(items[Number(step)], rest, to);
    return items.filter((item) => item !== undefined);
  }
  return Object.assign({}, data, { [step]: edit((data as Data)[step], rest, to) });
}

type Path = readonly (string | number)[];

/** Paths of every member of every object. */
function pathsIn(data: unknown, above: Path): readonly Path[] {
  if (typeof data !== "object" || data === null) return [];
  const isList = Array.isArray(data);
  return Object.entries(data).flatMap(([name, member]) => {
    const path: Path = above.concat(isList ? Number(name) : name);
    const within = pathsIn(member, path);
    return isList ? within : [path].concat(within);
  });
}

describe("a contract of ours", () => {
  it.each(EXAMPLE_CONTRACTS)("example %s → accepted and kept unchanged", (file) => {
    const contract = example(file);
    expect(register(contract)).toMatchObject({ state: "valid", value: { contract } });
  });

  it("contract of any generated robot → accepted", async () => {
    await fc.assert(
      fc.asyncProperty(robotManifest, async (data) => {
        const { manifest } = await readManifest(Buffer.from(JSON.stringify(data)), READY_CATALOG);
        const contract = manifest?.contract ?? null;
        if (contract === null) throw new Error("The generator created an invalid manifest");
        expect(register(contract)).toMatchObject({ state: "valid", value: { contract } });
      }),
      { numRuns: times(100, 1000) },
    );
  });

  it("required member missing → refused at that member", () => {
    const optional = new Set(["display_name", "side", "zero", "frame", "rotation", "range", "native", "max_step"]);
    const contract = example(SO101);
    const required = pathsIn(contract, []).filter((path) => path[0] !== "schema" && !optional.has(String(path.at(-1))));
    expect(required.length).toBeGreaterThan(80);
    for (const path of required) {
      expect(register(edit(contract, path, undefined), contract["robot_type_id"])).toMatchObject({
        findings: [{ type: "missing", loc: ["body", "contract", ...path], msg: "Field required" }],
      });
    }
  });

  it.each<[string, path: Path, to: unknown, type: string, msg: string, at?: Path]>([
    [SO101, ["robot_type_id"], "Acme.cell.v1", "string_pattern_mismatch", "String should match pattern"],
    [SO101, ["display_name"], "", "string_too_short", "at least 1 character"],
    [SO101, ["display_name"], "a\nb", "string_pattern_mismatch", "String should match pattern"],
    [SO101, ["display_name"], "手".repeat(129), "string_too_long", "at most 128 characters"],
    [SO101, ["display_name"], null, "string_type", "valid string"],
    [SO101, ["topology"], "single", "enum", "Input should be 'single_arm', 'bimanual' or 'mobile_manipulator'"],
    [SO101, ["action_semantics"], "position", "enum", "'joint_position'"],
    [SO101, ["gripper"], null, "enum", "'continuous', 'binary' or 'none'"],
    [SO101, ["control_rate_hz"], 0, "greater_than", "Input should be greater than 0"],
    [SO101, ["control_rate_hz"], 1000.5, "less_than_equal", "Input should be less than or equal to 1000"],
    [SO101, ["control_rate_hz"], "30", "float_type", "Input should be a valid number"],
    [SO101, ["control_rate_hz"], true, "float_type", "Input should be a valid number"],
    [SO101, ["calibration"], { a: 1 }, "extra_forbidden", "Extra inputs are not permitted"],
    [SO101, ["groups"], [], "too_short", "at least 1 item"],
    [SO101, ["groups"], Array.from({ length: 33 }, () => ({})), "too_long", "at most 32 items"],
    [SO101, ["groups"], {}, "list_type", "valid list"],
    [SO101, ["groups", 0], "arm", "model_attributes_type", "valid dictionary or object"],
    [SO101, ["groups", 0, "name"], "Arm", "string_pattern_mismatch", "^[a-z][a-z0-9_]{0,63}$"],
    [SO101, ["groups", 0, "side"], "none", "enum", "Input should be 'left' or 'right'"],
    [SO101, ["groups", 0, "zero"], null, "enum", "'urdf', 'driver' or 'calibrated_mid'"],
    [SO101, ["groups", 0, "device"], "/dev/ttyACM0", "extra_forbidden", "Extra inputs"],
    [WIDOWX, ["groups", 0, "rotation"], "euler", "enum", "'euler_xyz'"],
    [WIDOWX, ["groups", 0, "frame"], 7, "string_type", "valid string"],
    [SO101, ["state_axes"], [], "too_short", "at least 1 item"],
    [SO101, ["action_axes"], [], "too_short", "at least 1 item"],
    [SO101, ["action_axes"], Array.from({ length: 257 }, () => ({})), "too_long", "at most 256 items"],
    [SO101, ["action_axes", 3, "range", 0], "-1", "float_type", "valid number"],
    [SO101, ["action_axes", 3, "range"], [0], "missing", "Field required", ["action_axes", 3, "range", 1]],
    [
      SO101,
      ["action_axes", 3, "range"],
      [0, 1, 2],
      "too_long",
      "Tuple should have at most 2 items after validation, not 3",
    ],
    [SO101, ["action_axes", 3, "range"], { low: 0 }, "tuple_type", "valid tuple"],
    [SO101, ["action_axes", 3, "range"], [1, 1], "value_error", "the first number must be below the second"],
    [SO101, ["action_axes", 3, "range"], [1, -1], "value_error", "the first number must be below the second"],
    [SO101, ["action_axes", 3, "unit"], "deg", "enum", "'rad'"],
    [SO101, ["action_axes", 3, "unit"], "rad/s", "value_error", "a position is in rad or m or 1"],
    [SO101, ["action_axes", 3, "max_step"], 0, "greater_than", "greater than 0"],
    [SO101, ["action_axes", 3, "native", "unit"], "degrees", "enum", "'deg'"],
    [SO101, ["action_axes", 3, "native", "scale"], 0, "value_error", "0 makes every number the same"],
    [SO101, ["action_axes", 3, "native", "offset"], null, "float_type", "valid number"],
    [SO101, ["action_axes", 3, "name"], "arm.wrist_flex", "string_pattern_mismatch", "pattern"],
    [SO101, ["action_axes", 3, "name"], "arm.wrist_flex.effort", "string_pattern_mismatch", "pattern"],
    [SO101, ["state_axes", 3, "name"], "arm.wrist_flex.delta", "string_pattern_mismatch", "pattern"],
    [SO101, ["state_axes", 3, "max_step"], 0.1, "extra_forbidden", "Extra inputs"],
    [SO101, ["action_axes", 3, "name"], "leg.wrist_flex.position", "value_error", "no group is called leg"],
    [
      SO101,
      ["action_axes", 3, "name"],
      "arm.elbow_flex.position",
      "value_error",
      "arm.elbow_flex.position is the name at index 2 already",
    ],
    [SO101, ["groups", 1, "name"], "arm", "value_error", "arm is the name at index 0 already"],
    [SO101, ["cameras"], [], "too_short", "at least 1 item"],
    [SO101, ["cameras"], Array.from({ length: 9 }, () => ({})), "too_long", "at most 8 items"],
    [SO101, ["cameras", 1, "role"], "front", "value_error", "front is the name at index 0 already"],
    [SO101, ["cameras", 1, "mount"], "arm", "enum", "'exterior', 'wrist', 'head' or 'base'"],
    [SO101, ["cameras", 1, "width"], 31, "greater_than_equal", "greater than or equal to 32"],
    [SO101, ["cameras", 1, "height"], 4097, "less_than_equal", "less than or equal to 4096"],
    [SO101, ["cameras", 1, "width"], 640.5, "multiple_of", "Input should be a multiple of 1"],
    [SO101, ["cameras", 1, "width"], "640", "float_type", "valid number"],
    [SO101, ["cameras", 1, "fps"], 240.1, "less_than_equal", "less than or equal to 240"],
    [SO101, ["cameras", 1, "rotation_degrees"], 45, "literal_error", "Input should be 0, 90, 180 or 270"],
    [SO101, ["cameras", 1, "rotation_degrees"], "90", "literal_error", "Input should be 0, 90, 180 or 270"],
    [SO101, ["cameras", 1, "color_space"], "bgr", "literal_error", "Input should be 'rgb'"],
  ])("%s with %j → refused: %j", (file, path, to, type, msg, at = path) => {
    const contract = example(file);
    const registered = register(edit(contract, path, to), path[0] === "robot_type_id" ? to : contract["robot_type_id"]);
    const findings = registered.state === "valid" ? [] : registered.findings;
    const wanted = { type, loc: ["body", "contract", ...at], msg: expect.stringContaining(msg) };
    // Renaming a group leaves its axes without one.
    expect(findings[0]).toMatchObject(wanted);
    expect(findings.length).toBe(path.join(".") === "groups.1.name" ? 3 : 1);
  });

  it("type differs from the registered one → refused, with the sent value", () => {
    expect(register(example(SO101), "acme.other.v1")).toMatchObject({
      findings: [
        {
          type: "value_error",
          loc: ["body", "contract", "robot_type_id"],
          msg: "Value error, must be the robot_type_id that is registered",
          input: "acme.so101-cell.v1",
        },
      ],
    });
  });

  it("several mistakes → all findings, in order", () => {
    const contract = [
      [["topology"], "arm"],
      [["state_axes", 1, "native", "scale"], "1"],
      [["cameras", 0, "fps"], 0],
      [["extra"], 1],
    ].reduce<unknown>((data, [path, to]) => edit(data, path as string[], to), example(SO101));
    const registered = register(contract);
    expect(registered.state === "invalid" && registered.findings.map(({ loc }) => loc.slice(2).join("."))).toEqual([
      "topology",
      "state_axes.1.native.scale",
      "cameras.0.fps",
      "extra",
    ]);
  });
});

describe("any other contract", () => {
  it.each<[Data]>([
    [{}],
    [{ robot_type_id: "another", groups: 5 }],
    [{ schema: "robot-contract/v2", groups: [] }],
    [{ schema: "Robot-contract/v1" }],
    [{ schema: null }],
    [{ schema: ["robot-contract/v1"] }],
    [{ contract: { schema: "robot-contract/v1" } }],
  ])("%j → stored unchanged", (contract) => {
    expect(register(contract, "acme.other.v1")).toMatchObject({ state: "valid", value: { contract } });
  });

  it("any member order → kept", () => {
    const registered = register({ b: 1, a: { d: 1, c: 2 } }, "t");
    expect(JSON.stringify(registered.state === "valid" && registered.value.contract)).toBe('{"b":1,"a":{"d":1,"c":2}}');
  });
});
