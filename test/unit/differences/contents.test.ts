import { expect, it } from "vitest";

import { diffDeviceLines, diffTexts } from "../../../src/differences/contents.ts";

const json = (value: unknown) => JSON.stringify(value, null, 4);
const motor = (homing_offset: number, more: object = {}) => ({
  id: 1,
  drive_mode: 0,
  homing_offset,
  range_min: 744,
  range_max: 3421,
  ...more,
});

it.each<[what: string, before: string, after: string, details: readonly string[]]>([
  [
    "a joint's offset of LeRobot's calibration → its angle",
    json({ shoulder_pan: motor(1024), gripper: motor(7) }),
    json({ shoulder_pan: motor(1218), gripper: motor(7) }),
    ["shoulder_pan.homing_offset 1024 → 1218 (+194, 17.1°)"],
  ],
  [
    "the former format → the same, by the motor's name",
    json({ motor_names: ["shoulder_pan", "gripper"], homing_offset: [1024, 7], drive_mode: [0, 0], start_pos: [1, 2] }),
    json({ motor_names: ["shoulder_pan", "gripper"], homing_offset: [1024, 7], drive_mode: [0, 1], start_pos: [1, 0] }),
    ["gripper.drive_mode 0 → 1 (+1, turns the other way)", "gripper.start_pos 2 → 0 (−2, 0.2°)"],
  ],
  [
    "the same names elsewhere → numbers without an angle",
    json({ camera: { range_min: 0.25 } }),
    json({ camera: { range_min: 0.5 } }),
    ["camera.range_min 0.25 → 0.5 (+0.25)"],
  ],
  [
    "YAML → key paths, whatever the order and the comments",
    "arm:\n  limits: [1, 2, 3]\n  name: left # mine\nfps: 30\n",
    "fps: 15\narm: { name: left, limits: [1, 2.5, 3], gripper: robotiq }\n",
    ["arm.limits[1] 2 → 2.5 (+0.5)", 'arm.gripper is new: "robotiq"', "fps 30 → 15 (−15)"],
  ],
  ["a key that is gone", "a: 1\nb: {c: 2}\n", "a: 1\n", ['b is gone; it was {"c":2}']],
  ["another kind of value", '{"a": [1]}', '{"a": {"0": 1}}', ['a [1] → {"0":1}']],
  ["0.1 + 0.2 → no rounding error", '{"a": 0.1}', '{"a": 0.30000000000000004}', ["a 0.1 → 0.30000000000000004 (+0.2)"]],
  [
    "other texts → lines",
    'SUBSYSTEM=="tty", ATTRS{serial}=="A"\n# one\n# two\n',
    'SUBSYSTEM=="tty", ATTRS{serial}=="B"\n# one\n# two\n',
    ['line 1: − SUBSYSTEM=="tty", ATTRS{serial}=="A"', 'line 1: + SUBSYSTEM=="tty", ATTRS{serial}=="B"'],
  ],
  [
    "the same values, written otherwise → lines",
    "a: 1\n",
    "a: 1 # again\n",
    ["line 1: − a: 1", "line 1: + a: 1 # again"],
  ],
  ["broken YAML → lines", "a: [1\n", "a: [2\n", ["line 1: − a: [1", "line 1: + a: [2"]],
])("%s", (_what, before, after, details) => {
  expect(diffTexts(before, after)).toEqual({ details, omitted: 0 });
});

it("two devices → the facts that differ", () => {
  const line = (facts: object) => JSON.stringify({ bus: "usb", vendor: "046d", product: "082d", ...facts });
  expect(diffDeviceLines(line({ serial: "4F3A" }), line({ port: "pci/1" }))).toEqual({
    details: ['serial is gone; it was "4F3A"', 'port is new: "pci/1"'],
    omitted: 0,
  });
});

it("many differences → the first, and the number of the others", () => {
  const numbers = (first: number) =>
    json(Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`k${index}`, first + index])));
  const { details, omitted } = diffTexts(numbers(0), numbers(1));
  expect([details.length, details[0], omitted]).toEqual([50, "k0 0 → 1 (+1)", 30]);
});

it.each([
  ["nested deeply", "[".repeat(8000), `${"[".repeat(8000)}1`],
  ["aliases that grow", "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\ne: [*d, *d]\n", "a: 1\n"],
  ["other lines, 256 KiB", "left\n".repeat(52_000), "right\n".repeat(43_000)],
  ["a line of 256 KiB", "a".repeat(262_144), "b".repeat(262_144)],
  ["JSON just below its limit", `{"a":[${"1,".repeat(24_000)}1]}`, `{"a":[${"2,".repeat(24_000)}1]}`],
  ["YAML just below its limit", "- [a, b, c]\n".repeat(650), "- [a, b, d]\n".repeat(650)],
  ["a key called __proto__", '{"__proto__": 1}', '{"__proto__": 2}'],
])("hostile: %s → a bounded answer", (_what, before, after) => {
  const { details } = diffTexts(before, after);
  expect(details.length).toBeGreaterThan(0);
  expect(details.length).toBeLessThanOrEqual(50);
  expect(Math.max(...details.map(({ length }) => length))).toBeLessThanOrEqual(200);
});
