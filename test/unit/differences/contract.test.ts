import { describe, expect, test } from "vitest";

import type { Contract } from "../../../src/manifest/custom/contract.ts";
import { diffContracts } from "../../../src/differences/contract.ts";
import { readManifest } from "../../../src/manifest/manifest.ts";
import { customManifest } from "../../support/robot/custom-manifest.ts";

const ARM = customManifest();

async function contractOf(text: string): Promise<Contract> {
  const { findings, value: manifest } = await readManifest(Buffer.from(text));
  if (!manifest?.contract) throw new Error(JSON.stringify(findings));
  return manifest.contract;
}

/** Changes as `kind: location text`. */
function changesOf(before: Contract, after: Contract): readonly string[] {
  return diffContracts(before, after).map(({ kind, where, what }) => `${kind}: ${where} ${what}`);
}

/** Changes after an edit of the manifest. */
async function changes(edit: (text: string) => string): Promise<readonly string[]> {
  const edited = edit(ARM);
  if (edited === ARM) throw new Error("The edit changes nothing");
  return changesOf(await contractOf(ARM), await contractOf(edited));
}

/** The same change in both vectors. */
const bothVectors = (kind: string, ...axes: string[]) =>
  ["action_axes", "state_axes"].flatMap((vector) => axes.map((axis) => `${kind}: ${vector} ${axis}`));

const HEAD = "  - {name: head, kind: head, elements: [pan], unit: calibrated_range, state: [], action: none}\n";
const PAN = "  - {name: head, kind: head, elements: [pan], unit: rad, zero: urdf, limits: {position: [[-1, 1]]}}";

describe("diffContracts", () => {
  test("diffContracts: equal contracts → no changes", async () => {
    expect(changesOf(await contractOf(ARM), await contractOf(ARM.replace("topology", "# x\ntopology")))).toEqual([]);
  });

  test("diffContracts: two joints swapped", async () => {
    const swap = (text: string) =>
      text
        .replace("[shoulder, elbow]", "[elbow, shoulder]")
        .replace("[[-90, 90], [-45, 120]]", "[[-45, 120], [-90, 90]]");
    expect(await changes(swap)).toEqual(
      bothVectors(
        "order",
        "arm.shoulder.position was at index 0, is at index 1",
        "arm.elbow.position was at index 1, is at index 0",
      ),
    );
  });

  test("diffContracts: unit changed, limits in the previous unit", async () => {
    const inRadians = (text: string) =>
      text.replace("unit: deg", "unit: rad").replace("{position", "{unit: deg, position");
    const counts = "native numbers have another scale; was 0.0174532925199 × deg, is rad";
    expect(await changes(inRadians)).toEqual(
      bothVectors("unit", `arm.shoulder.position ${counts}`, `arm.elbow.position ${counts}`),
    );
  });

  test.each<[from: string | RegExp, to: string, expected: readonly string[]]>([
    [
      "closed: 0, open: 80",
      "closed: 80, open: 0",
      bothVectors(
        "direction",
        "gripper.gripper.position direction flipped: growing numbers moved it up, now down; was 0.0125 × mm, is -0.0125 × mm + 1",
      ),
    ],
    [
      "[-45, 120]",
      "[-60, 100]",
      bothVectors(
        "range",
        "arm.elbow.position lower limit was -0.785398163397, is -1.0471975512 rad (wider); upper limit was 2.09439510239, is 1.74532925199 rad (narrower)",
      ),
    ],
    [
      "velocity: 60",
      "velocity: 30",
      [
        "step: action_axes arm.shoulder.position largest step was 0.0523598775598 rad, is 0.0261799387799 rad",
        "step: action_axes arm.elbow.position largest step was 0.0523598775598 rad, is 0.0261799387799 rad",
      ],
    ],
    [
      "control_rate_hz: 20",
      "control_rate_hz: 25",
      [
        "step: action_axes arm.shoulder.position largest step was 0.0523598775598 rad, is 0.0418879020479 rad",
        "step: action_axes arm.elbow.position largest step was 0.0523598775598 rad, is 0.0418879020479 rad",
        "robot: control_rate_hz was 20, is 25",
      ],
    ],
    [
      "open: 80}",
      "open: 80}, limits: {velocity: 40}",
      ["step: action_axes gripper.gripper.position largest step was unlimited, is 0.025"],
    ],
    ["role: front", "role: top", ["camera: cameras front is gone", "camera: cameras top is new: 640×480, 30 fps"]],
    ["width: 640", "width: 320", ["camera: cameras front width was 640, is 320"]],
    ["kind: arm", "kind: arm\n    side: left", ["group: groups arm side was none, is left"]],
    ["zero: urdf", "zero: driver", ["group: groups arm zero was urdf, is driver"]],
    ["cameras", `${HEAD}cameras`, ["group: groups head is new, of kind head"]],
    [
      /^.*gripper.*$/m,
      PAN,
      [
        "removed: action_axes gripper.gripper.position is gone; it was at index 2",
        "added: action_axes head.pan.position is new, at index 2: -1 … 1 rad, native rad",
        "removed: state_axes gripper.gripper.position is gone; it was at index 2",
        "added: state_axes head.pan.position is new, at index 2: -1 … 1 rad, native rad",
        "robot: gripper was continuous, is none",
        "group: groups gripper is gone",
        "group: groups head is new, of kind head",
      ],
    ],
  ])("diffContracts: %s → %s", async (from, to, expected) => {
    expect(await changes((text) => text.replace(from, to))).toEqual(expected);
  });

  test.each([
    [
      "a limit without unit",
      "{kind: hand, unit: ratio, limits: {position: [[0, 0.5]]}",
      "{kind: hand, unit: ratio",
      ["range: state_axes it.a.position upper limit was 0.5, is 1 (wider)"],
    ],
    [
      "limits of another unit",
      "{kind: torso, zero: urdf, unit: rad, limits: {position: [[-1, 1]]}",
      "{kind: torso, zero: urdf, unit: m, limits: {position: [[-2, 2]]}",
      [
        "unit: state_axes it.a.position unit rad is now m",
        "unit: state_axes it.a.position native numbers have another scale; was rad, is m",
        "range: state_axes it.a.position range was -1 … 1 rad, is -2 … 2 m",
      ],
    ],
  ])("diffContracts: %s", async (_, before, after, expected) => {
    const withGroup = (group: string) =>
      contractOf(ARM.replace("cameras", `  - ${group}, name: it, elements: [a], action: none}\ncameras`));
    expect(changesOf(await withGroup(before), await withGroup(after))).toEqual(expected);
  });

  test("diffContracts: cameras and groups without axes, reordered", async () => {
    const mast = HEAD.replace("head,", "mast,");
    const withGroups = (groups: string) => contractOf(ARM.replace("cameras", `${groups}cameras`));
    expect(changesOf(await withGroups(HEAD + mast), await withGroups(mast + HEAD))).toEqual([
      "group: groups head was at index 2, is at index 3",
      "group: groups mast was at index 3, is at index 2",
    ]);
    const camera = "  - {role: top, mount: exterior, width: 640, height: 480, fps: 30}\n";
    const withCamera = (before: string) => contractOf(ARM.replace(before, camera + before));
    expect(changesOf(await withCamera("configuration_files"), await withCamera("  - {role: front"))).toEqual([
      "camera: cameras front was at index 0, is at index 1",
      "camera: cameras top was at index 1, is at index 0",
    ]);
  });
});
