/** The `contract` of a registration: with our schema name it is validated; any other is stored unchanged. */
import { readdirSync, readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { robotSetupSchema } from "../../../../src/api/robots.ts";
import { parseJson } from "../../../../src/service/kernel/json/json.ts";
import { validate } from "../../../../src/service/kernel/validation/validation.ts";

const EXAMPLES = new URL("../../../golden/robot-manifest/examples/", import.meta.url);
const EXAMPLE_CONTRACTS = readdirSync(EXAMPLES).filter((file) => file.endsWith(".contract.json"));
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

  it.each<[path: Path, to: unknown, type: string]>([
    [["robot_type_id"], "Acme.cell.v1", "string_pattern_mismatch"],
    [["display_name"], "", "string_too_short"],
    [["display_name"], "a\nb", "string_pattern_mismatch"],
    [["display_name"], "手".repeat(129), "string_too_long"],
    [["topology"], "single", "enum"],
    [["action_semantics"], "position", "enum"],
    [["gripper"], null, "enum"],
    [["control_rate_hz"], 0, "greater_than"],
    [["control_rate_hz"], 1000.5, "less_than_equal"],
    [["calibration"], { a: 1 }, "extra_forbidden"],
    [["groups"], [], "too_short"],
    [["groups"], Array.from({ length: 33 }, () => ({})), "too_long"],
    [["groups", 0, "name"], "Arm", "string_pattern_mismatch"],
    [["groups", 0, "side"], "none", "enum"],
    [["groups", 0, "zero"], null, "enum"],
    [["groups", 0, "rotation"], "euler", "enum"],
    [["groups", 0, "device"], "/dev/ttyACM0", "extra_forbidden"],
    [["state_axes"], [], "too_short"],
    [["state_axes", 3, "name"], "arm.wrist_flex.delta", "string_pattern_mismatch"],
    [["state_axes", 3, "max_step"], 0.1, "extra_forbidden"],
    [["action_axes"], [], "too_short"],
    [["action_axes"], Array.from({ length: 257 }, () => ({})), "too_long"],
    [["action_axes", 3, "range"], [0, 1, 2], "too_long"],
    [["action_axes", 3, "range"], [1, 1], "value_error"],
    [["action_axes", 3, "unit"], "deg", "enum"],
    [["action_axes", 3, "max_step"], 0, "greater_than"],
    [["action_axes", 3, "native", "unit"], "degrees", "enum"],
    [["action_axes", 3, "name"], "arm.wrist_flex.effort", "string_pattern_mismatch"],
    [["cameras"], [], "too_short"],
    [["cameras"], Array.from({ length: 9 }, () => ({})), "too_long"],
    [["cameras", 1, "mount"], "arm", "enum"],
    [["cameras", 1, "width"], 31, "greater_than_equal"],
    [["cameras", 1, "height"], 4097, "less_than_equal"],
    [["cameras", 1, "width"], 640.5, "multiple_of"],
    [["cameras", 1, "fps"], 240.1, "less_than_equal"],
    [["cameras", 1, "rotation_degrees"], 45, "literal_error"],
    [["cameras", 1, "color_space"], "bgr", "literal_error"],
  ])("%j with %j → refused: %s", (path, to, type) => {
    const contract = example(SO101);
    const registered = register(edit(contract, path, to), path[0] === "robot_type_id" ? to : contract["robot_type_id"]);
    expect(registered).toMatchObject({ findings: [{ type, loc: ["body", "contract", ...path] }] });
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
