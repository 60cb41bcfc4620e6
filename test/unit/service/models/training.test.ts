/** What a checkpoint was trained on, compared with robots. */
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { RobotContract } from "../../../../src/api/contract.ts";
import type { RegistrationPart } from "../../../../src/api/differences.ts";
import { judgeRobot, wordVerdict } from "../../../../src/service/models/obstacles.ts";
import {
  FACTS,
  type Fact,
  NO_REQUIREMENTS,
  parseRequirements,
  printRequirements,
  type Reference,
  type Training,
} from "../../../../src/service/models/requirements.ts";
import {
  catalogEquipment,
  coveredBy,
  type Equipment,
  equipmentOf,
  knownEquipment,
  parseEquipment,
} from "../../../../src/service/robots/equipment.ts";

const EXAMPLES = new URL("../../../golden/robot-manifest/examples/", import.meta.url);
const CONTRACTS = readdirSync(EXAMPLES)
  .filter((name) => name.endsWith(".contract.json"))
  .map((name): RobotContract => JSON.parse(readFileSync(new URL(name, EXAMPLES), "utf8")));
const SO101: RobotContract = JSON.parse(readFileSync(new URL("so101.contract.json", EXAMPLES), "utf8"));
const DIGEST = `sha256:${"b1fd3c4d".repeat(8)}`;
const REQUIRED: readonly Fact[] = ["axes", "order", "units", "signs", "camera_roles"];

/** As the store gives it. @param referenceId of a robot that a checkpoint was trained on. */
function equipped(
  contract: RobotContract | null,
  parts: readonly RegistrationPart[] | null = null,
  referenceId: string | null = null,
): Equipment | null {
  const covered = parts === null ? null : coveredBy(parts, referenceId);
  const { equipment } = equipmentOf(contract === null ? null : JSON.stringify(contract), covered);
  return equipment === null ? null : parseEquipment(equipment);
}

function part(label: string, text: string, kind: RegistrationPart["kind"] = "file"): RegistrationPart {
  const line = kind === "device" ? { line: text } : {};
  return { label, kind, sha256: hash("sha256", text), bytes: text.length, shared: false, ...line };
}

const camera = (label: string, serial: string, product = "082d") =>
  part(label, JSON.stringify({ bus: "usb", product, serial, vendor: "046d" }), "device");

function reference(equipment: Equipment, more: Partial<Reference> = {}): Reference {
  return { kind: "robot", name: "cell-4", digest: DIGEST, robot_id: "rob_4", equipment, ...more };
}

function training(references: readonly Reference[], more: Partial<Training> = {}): Training {
  const warn = FACTS.filter((fact) => !REQUIRED.includes(fact));
  return { references, tolerances: {}, require: REQUIRED, warn, ...more };
}

function judge(equipment: Equipment | null, trained: Training, robotTypeId = SO101.robot_type_id) {
  const requirements = parseRequirements(printRequirements({ ...NO_REQUIREMENTS, trained_on: trained }));
  return wordVerdict(judgeRobot({ robot_type_id: robotTypeId, equipment }, requirements));
}

const FITS = { obstacle: null, warnings: [] };
const ON_CELL_4 = "was trained on cell-4 (sha256:b1fd3c4d…), ";

type Axis = RobotContract["action_axes"][number];

/** The contract with another action axis in place of the one with this name. */
function withAxis(name: string, change: (axis: Axis) => Axis): RobotContract {
  return { ...SO101, action_axes: SO101.action_axes.map((axis) => (axis.name === name ? change(axis) : axis)) };
}

function withCamera(role: string, change: Partial<RobotContract["cameras"][number]>): RobotContract {
  return { ...SO101, cameras: SO101.cameras.map((each) => (each.role === role ? { ...each, ...change } : each)) };
}

const GRIPPER = "gripper.gripper.position";
const PAN = "arm.shoulder_pan.position";
const percent = (scale: number, offset = 0) => ({ unit: "percent", scale, offset }) as const;

/** Another contract than that of the training, what is said of it, and whether that refuses the robot. */
const STORIES: readonly (readonly [string, RobotContract, string, "refused" | "said"])[] = [
  [
    "a gripper's direction flipped",
    withAxis(GRIPPER, (axis) => ({ ...axis, native: percent(-0.01, 1) })),
    `where the action axis ${GRIPPER} grows the other way, by 0.01 × percent; the robot's manifest says -0.01 × percent + 1`,
    "refused",
  ],
  [
    "units of another version of LeRobot",
    withAxis(PAN, (axis) => ({ ...axis, native: { unit: "normalized", scale: 0.02, offset: 0 } })),
    `where the action axis ${PAN} is 0.0174532925199 × deg; the robot's manifest says 0.02 × normalized`,
    "refused",
  ],
  [
    "a scale twice as large",
    withAxis(GRIPPER, (axis) => ({ ...axis, native: percent(0.02) })),
    `where the action axis ${GRIPPER} is 0.01 × percent; the robot's manifest says 0.02 × percent`,
    "refused",
  ],
  [
    "another canonical unit",
    withAxis(GRIPPER, (axis) => ({ ...axis, unit: "m" })),
    `where the action axis ${GRIPPER} is in 1; the robot's manifest says m`,
    "refused",
  ],
  [
    "no gripper",
    { ...SO101, action_axes: SO101.action_axes.filter(({ name }) => name !== GRIPPER) },
    `where there is the action axis ${GRIPPER}; the robot's manifest says that there is none`,
    "refused",
  ],
  [
    "one more axis",
    { ...SO101, action_axes: [...SO101.action_axes, { name: "lift.z.position", unit: "m" }] },
    "where there is no action axis lift.z.position; the robot's manifest says that there is one",
    "refused",
  ],
  [
    "axes in another order",
    { ...SO101, action_axes: SO101.action_axes.toReversed() },
    `where the action axis ${PAN} is at index 0; the robot's manifest says index 5`,
    "refused",
  ],
  [
    "a camera with another role",
    withCamera("front", { role: "top" }),
    "where there is a camera front; the robot's manifest says that there is none",
    "refused",
  ],
  [
    "a camera elsewhere",
    withCamera("front", { mount: "head" }),
    "where the mount of the camera front is exterior; the robot's manifest says head",
    "said",
  ],
  [
    "a camera that is turned",
    withCamera("front", { rotation_degrees: 180 }),
    "where the rotation in degrees of the camera front is 0; the robot's manifest says 180",
    "said",
  ],
  [
    "larger images",
    withCamera("wrist", { width: 1280, height: 720 }),
    "where the camera wrist has 640×480; the robot's manifest says 1280×720",
    "said",
  ],
  [
    "a joint that may go further",
    withAxis(PAN, (axis) => ({ ...axis, range: [-2.0944, 2.2] })),
    `where the range of the action axis ${PAN} is -2.0944 … 2.0944 rad; the robot's manifest says -2.0944 … 2.2 rad`,
    "said",
  ],
  [
    "a joint without limits",
    withAxis(PAN, (axis) => ({ name: axis.name, unit: axis.unit, native: axis.native })),
    `where the range of the action axis ${PAN} is -2.0944 … 2.0944 rad; the robot's manifest says unlimited`,
    "said",
  ],
  [
    "another control rate",
    { ...SO101, control_rate_hz: 50 },
    "where the control rate is 30 Hz; the robot's manifest says 50 Hz",
    "said",
  ],
];

describe("a robot that differs from the one that a checkpoint was trained on", () => {
  const trained = training([reference(knownEquipment(SO101.robot_type_id, equipped(SO101)))]);

  it.each(STORIES)("%s → %s", (_name, contract, clause, outcome) => {
    const sentence = `${ON_CELL_4}${clause}`;
    expect(judge(equipped(contract), trained)).toEqual(
      outcome === "refused" ? { obstacle: sentence, warnings: [] } : { obstacle: null, warnings: [sentence] },
    );
  });

  it.each(STORIES)(
    "%s, where the catalog compares nothing else or wants the opposite → so",
    (_name, contract, clause, outcome) => {
      const sentence = `${ON_CELL_4}${clause}`;
      const swapped = judge(equipped(contract), { ...trained, require: trained.warn, warn: trained.require });
      expect(swapped).toEqual(
        outcome === "said" ? { obstacle: sentence, warnings: [] } : { obstacle: null, warnings: [sentence] },
      );
      expect(judge(equipped(contract), { ...trained, require: [], warn: [] })).toEqual(FITS);
    },
  );

  it("several differences → the first blocker, and how many more; at most 8 warnings", () => {
    const { length } = SO101.action_axes;
    const flipped = { ...SO101, action_axes: SO101.action_axes.map((axis) => ({ ...axis, native: percent(-0.01) })) };
    const { obstacle } = judge(equipped(flipped), trained);
    expect(obstacle).toContain(`where the action axis ${PAN} is 0.0174532925199 × deg`);
    expect(obstacle).toMatch(new RegExp(` \\(and ${length - 1 + length - 1} more differences\\)$`));
    const warned = judge(equipped(flipped), { ...trained, require: [], warn: ["units", "signs"] });
    expect(warned.warnings).toHaveLength(8);
  });

  it("within the tolerance of the unit → equal", () => {
    const further = equipped(withAxis(PAN, (axis) => ({ ...axis, range: [-2.0944, 2.14] })));
    expect(judge(further, { ...trained, tolerances: { rad: 0.05 } })).toEqual(FITS);
    expect(judge(further, { ...trained, tolerances: { rad: 0.04, m: 1 } }).warnings).toHaveLength(1);
  });

  it("what is unknown → equal: rows of earlier releases, other contracts, types without cameras", () => {
    const old = { camera_roles: ["front", "wrist"], state_axes: null, action_axes: null };
    const axes = SO101.action_axes.map(({ name, unit }) => ({ name, unit }));
    expect(judge(parseEquipment(JSON.stringify({ ...old, action_axes: axes, state_axes: axes })), trained)).toEqual(
      FITS,
    );
    expect(judge(parseEquipment(JSON.stringify(old)), trained, "acme.arm.v1")).toEqual(FITS);
    expect(judge(null, trained, "acme.arm.v1")).toEqual(FITS);
  });

  it("a type of the ready catalog → by what the catalog knows", () => {
    const yam = "yam.bimanual-joint-position.v1";
    const equipment = catalogEquipment(yam);
    const onType = training([reference(equipment, { kind: "type", name: yam, digest: null, robot_id: null })]);
    expect(judge(null, onType, yam)).toEqual(FITS);
    expect(judge(equipped(SO101), onType).obstacle).toMatch(
      /^was trained on yam\.bimanual-joint-position\.v1, where there is the state axis /,
    );
    const so101 = "lerobot.so101-follower.v1";
    expect(judge(null, onType, so101).obstacle).toContain(`the robot's type ${so101} says that there is none`);
  });

  it("hostile names and lines → bounded, escaped", () => {
    const long = "a".repeat(100_000);
    const hostile = parseEquipment(
      JSON.stringify({
        camera_roles: [],
        state_axes: [{ name: long, unit: long }],
        action_axes: [{ name: `\u001b[31m${long}`, unit: long }],
        devices: [{ label: "top", model: `{"product":"\\u001b${long}"}` }],
      }),
    );
    const bare = training([
      reference({ camera_roles: [long], state_axes: [], action_axes: [], devices: [{ label: "top", model: "{}" }] }),
    ]);
    const { obstacle, warnings } = judge(hostile, { ...bare, require: ["axes"], warn: ["camera_roles", "devices"] });
    for (const text of [obstacle ?? "", ...warnings]) {
      expect(text.length).toBeLessThan(500);
      expect(text).not.toMatch(/\p{Cc}/u);
    }
  });
});

describe("several references", () => {
  const flipped = withAxis(GRIPPER, (axis) => ({ ...axis, native: percent(-0.01, 1) }));
  const fast = { ...SO101, control_rate_hz: 50 };
  const references = [flipped, fast, SO101].map((contract, index) =>
    reference(knownEquipment(contract.robot_type_id, equipped(contract)), {
      name: `cell-${index}`,
      robot_id: `rob_${index}`,
    }),
  );

  it("as one of them → fits; else the differences from the nearest", () => {
    for (const contract of [flipped, fast, SO101])
      expect(judge(equipped(contract), training(references))).toEqual(FITS);
    const { obstacle, warnings } = judge(equipped({ ...SO101, control_rate_hz: 20 }), training(references.slice(0, 2)));
    expect(obstacle).toBeNull();
    expect(warnings).toEqual([
      "was trained on cell-1 (sha256:b1fd3c4d…), where the control rate is 50 Hz; the robot's manifest says 20 Hz",
    ]);
  });
});

describe("devices and files", () => {
  const parts = [
    part("right arm", "offset: 1024"),
    camera("top camera", "4F3A"),
    camera("wrist camera", "58FA"),
    camera("/dev/v4l/by-id/usb-58FA", "58FA"),
  ];
  const then = reference(knownEquipment(SO101.robot_type_id, equipped(SO101, parts, "rob_4")));
  const trained = training([then]);
  const [arm, top, wrist, path] = parts;
  if (arm === undefined || top === undefined || wrist === undefined || path === undefined) throw new Error("no parts");

  it("another robot of the same devices, with serial numbers and files of its own → fits, equal to others", () => {
    const other = [path, camera("wrist camera", "1"), part("right arm", "offset: 7"), camera("top camera", "2")];
    expect(judge(equipped(SO101, other), trained)).toEqual(FITS);
    const third = [camera("top camera", "3"), camera("wrist camera", "4"), part("right arm", "offset: 9")];
    expect(equipped(SO101, third)).toEqual(equipped(SO101, other));
  });

  it("another robot with another model, or without a device → said by its label", () => {
    const other = [camera("top camera", "1", "0843")];
    expect(judge(equipped(SO101, other), trained).warnings).toEqual([
      `${ON_CELL_4}which has another top camera than this robot: product "082d" → "0843"`,
      `${ON_CELL_4}where there is the device wrist camera; the robot has none of that label`,
    ]);
  });

  it("the robot itself: two cameras exchanged, a file changed, one new, one gone → by label", () => {
    const now = [part("limits.yaml", "torque: 40"), camera("top camera", "58FA"), camera("wrist camera", "4F3A"), arm];
    expect(judge(equipped(SO101, now, "rob_4"), trained).warnings).toEqual([
      `${ON_CELL_4}and top camera changed since then: serial "4F3A" → "58FA"`,
      `${ON_CELL_4}and wrist camera changed since then: serial "58FA" → "4F3A"`,
      `${ON_CELL_4}and /dev/v4l/by-id/usb-58FA is gone from the robot since then`,
      `${ON_CELL_4}and limits.yaml is new on the robot since then`,
    ]);
    const exchanged = [arm, camera("top camera", "4F3A", "0843"), wrist, path];
    expect(judge(equipped(SO101, exchanged, "rob_4"), trained).warnings).toEqual([
      `${ON_CELL_4}and top camera changed since then: product "082d" → "0843"`,
    ]);
    const moved = [part("right arm", "offset: 1218"), top, wrist, path];
    const [was, is] = ["offset: 1024", "offset: 1218"].map((text) => hash("sha256", text).slice(0, 8));
    expect(judge(equipped(SO101, moved, "rob_4"), { ...trained, require: ["files"] }).obstacle).toBe(
      `${ON_CELL_4}and right arm changed since then: SHA-256 ${was}… → ${is}…`,
    );
    expect(judge(equipped(SO101, parts.toReversed(), "rob_4"), trained)).toEqual(FITS);
  });

  it("the robot itself among other references → compared with itself, and as a robot with the nearest", () => {
    const fast = reference(knownEquipment("x", equipped({ ...SO101, control_rate_hz: 50 })), {
      name: "cell-5",
      robot_id: "rob_5",
    });
    const now = equipped(
      { ...SO101, control_rate_hz: 50 },
      [part("right arm", "offset: 1"), top, wrist, path],
      "rob_4",
    );
    expect(judge(now, training([then, fast])).warnings).toEqual([
      expect.stringContaining("cell-4 (sha256:b1fd3c4d…), and right arm changed since then"),
    ]);
  });

  it("parts that are not known yet, too many, or of a hostile robot → not compared", () => {
    expect(judge(equipped(SO101), trained)).toEqual(FITS);
    const many = Array.from({ length: 576 }, (_, index) => part(`f${index}`, "y".repeat(index)));
    expect(coveredBy(many, "rob_4")).toEqual({ devices: [] });
    const devices = Array.from({ length: 576 }, (_, index) => camera(`c${index}`, "1"));
    expect(coveredBy(devices, null).devices).toHaveLength(64);
    expect(coveredBy([camera("c".repeat(300), "1"), camera("c", "y".repeat(2000))], null).devices).toEqual([]);
  });
});

describe("unchanged robots", () => {
  it("10,000 registrations of unchanged robots → none is refused or warned of, and equal ones are judged once", () => {
    const files = fc.array(fc.string({ maxLength: 20 }), { maxLength: 5 });
    const fleet = fc.record({
      contract: fc.option(fc.constantFrom(...CONTRACTS)),
      cameras: fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { maxLength: 4 }),
      robots: fc.array(
        fc.record({
          files,
          serials: fc.string({ maxLength: 8 }),
          tells: fc.boolean(),
          isReference: fc.boolean(),
          seed: fc.nat(),
        }),
        { minLength: 100, maxLength: 100 },
      ),
    });
    let count = 0;
    fc.assert(
      fc.property(fleet, ({ contract, cameras, robots }) => {
        const typeId = contract?.robot_type_id ?? "yam.bimanual-joint-position.v1";
        const registered = robots.map(({ files: texts, serials, tells, isReference, seed }, index) => {
          const parts = [
            ...texts.map((text, number) => part(`file ${number}`, text)),
            ...cameras.map((label) => camera(label, `${serials}${index}`)),
          ];
          // The order of a manifest's entries is each robot's own, but for what is compared with itself.
          const ordered = seed % 2 === 0 ? parts : parts.toReversed();
          const id = isReference ? `rob_${index}` : null;
          // Before it told its parts, and after; a registration again, and the row after a restart, are the same.
          return { id, before: equipped(contract, null), after: tells ? equipped(contract, ordered, id) : null };
        });
        const references = registered
          .slice(0, 3)
          .map(({ id, before, after }) => reference(knownEquipment(typeId, after ?? before), { robot_id: id }));
        const printed = printRequirements({ ...NO_REQUIREMENTS, trained_on: training(references) });
        const requirements = parseRequirements(printed);
        expect(printRequirements(requirements)).toBe(printed);
        for (const { before, after } of registered) {
          count += 1;
          for (const equipment of [before, after ?? before]) {
            expect(wordVerdict(judgeRobot({ robot_type_id: typeId, equipment }, requirements))).toEqual(FITS);
          }
        }
        const others = registered.flatMap(({ id, after }) =>
          id === null && after !== null ? [JSON.stringify(after)] : [],
        );
        expect(new Set(others).size).toBeLessThanOrEqual(1);
      }),
      { numRuns: 100 },
    );
    expect(count).toBe(10_000);
  });
});
