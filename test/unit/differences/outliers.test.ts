import { expect, it } from "vitest";

import type { RegistrationPart } from "../../../src/api/differences.ts";
import { createOutliers } from "../../../src/differences/outliers.ts";

const file = (label: string, content: string): RegistrationPart => ({
  label,
  kind: "file",
  sha256: content.repeat(64).slice(0, 64),
  bytes: 1,
  shared: false,
});
const camera = (product: string, serial: string): RegistrationPart => ({
  ...file("top camera", "c"),
  kind: "device",
  sha256: serial.repeat(64).slice(0, 64),
  line: JSON.stringify({ bus: "usb", product, serial }),
});

function outliersOf(parts: (index: number) => readonly RegistrationPart[] | null, count = 40) {
  const outliers = createOutliers();
  for (let index = 0; index < count; index += 1) {
    const robot = `cell-${index}`;
    outliers.add({ robot_id: `rob_${index}`, robot, members: { robot_type_id: "so101" }, parts: parts(index) });
  }
  return outliers.result();
}

it("forty equal robots → nothing", () => {
  const result = outliersOf(() => [file("limits", "a")]);
  expect(result).toEqual({ members: 40, unknown: [], parts: [], equal_parts: 2 });
});

it("a new file in one of forty, and another content in one → both by name", () => {
  const { parts } = outliersOf((index) => [
    file("limits", index === 7 ? "b" : "a"),
    ...(index === 4 ? [file("extra.yaml", "e")] : []),
  ]);
  expect(parts.map(({ subject, equal, most, typical, outliers }) => [subject, equal, most, typical, outliers])).toEqual(
    [
      ["limits", 39, "aaaaaaaaaaaa", "cell-0", [{ robot_id: "rob_7", robot: "cell-7", what: "bbbbbbbbbbbb" }]],
      ["extra.yaml", 39, "none", "cell-0", [{ robot_id: "rob_4", robot: "cell-4", what: "eeeeeeeeeeee" }]],
    ],
  );
});

it("calibrations of their own → no outlier", () => {
  const digit = (index: number) => "0123456789abcdef".charAt(index % 16);
  const { parts } = outliersOf((index) => [file("calibration", digit(index))], 10);
  expect(parts).toEqual([
    {
      group: "part",
      subject: "calibration",
      part_kind: "file",
      equal: 1,
      most: null,
      typical: null,
      values: 10,
      outliers: [],
      omitted: 0,
    },
  ]);
});

it("devices → compared by their model, not by their serial number", () => {
  const { parts, equal_parts: equal } = outliersOf((index) => [
    camera(index === 3 ? "0825" : "082d", String(index % 10)),
  ]);
  expect(parts.map(({ outliers }) => outliers)).toEqual([
    [{ robot_id: "rob_3", robot: "cell-3", what: '{"bus":"usb","product":"0825"}' }],
  ]);
  expect(equal).toBe(1);
});

it("robots that did not say what their digest covers → named, and no outliers", () => {
  const { unknown, parts } = outliersOf((index) => (index < 2 ? null : [file("limits", "a")]));
  expect([unknown, parts]).toEqual([["cell-0", "cell-1"], []]);
});
