import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import type { Contract } from "../../../../src/manifest/custom/contract.ts";
import { diffContracts } from "../../../../src/manifest/custom/diff.ts";
import { readManifest } from "../../../../src/manifest/manifest.ts";
import { customManifest } from "../../../support/robot/custom-manifest.ts";

const ARM = customManifest();

async function contractOf(text: string): Promise<Contract> {
  const { findings, manifest } = await readManifest(Buffer.from(text), READY_CATALOG);
  if (!manifest?.contract) throw new Error(JSON.stringify(findings));
  return manifest.contract;
}

async function changes(edit: (text: string) => string): Promise<readonly string[]> {
  const edited = edit(ARM);
  if (edited === ARM) throw new Error("The edit changes nothing");
  return diffContracts(await contractOf(ARM), await contractOf(edited)).map(
    ({ kind, where, what }) => `${kind}: ${where} ${what}`,
  );
}

describe("diffContracts", () => {
  test("diffContracts: equal contracts have no changes", async () => {
    expect(diffContracts(await contractOf(ARM), await contractOf(ARM.replace("topology", "# x\ntopology")))).toEqual(
      [],
    );
  });

  test("diffContracts: two joints that swapped", async () => {
    const swapped = await changes((text) =>
      text
        .replace("[shoulder, elbow]", "[elbow, shoulder]")
        .replace("[[-90, 90], [-45, 120]]", "[[-45, 120], [-90, 90]]"),
    );
    expect(swapped).toMatchInlineSnapshot(`
      [
        "order: action_axes arm.shoulder.position was at index 0, is at index 1",
        "order: action_axes arm.elbow.position was at index 1, is at index 0",
        "order: state_axes arm.shoulder.position was at index 0, is at index 1",
        "order: state_axes arm.elbow.position was at index 1, is at index 0",
      ]
    `);
  });

  test("diffContracts: a gripper whose direction flipped", async () => {
    expect(await changes((text) => text.replace("closed: 0, open: 80", "closed: 80, open: 0"))).toMatchInlineSnapshot(`
      [
        "direction: action_axes gripper.gripper.position direction flipped: growing numbers moved it up, now down; was 0.0125 × mm, is -0.0125 × mm + 1",
        "direction: state_axes gripper.gripper.position direction flipped: growing numbers moved it up, now down; was 0.0125 × mm, is -0.0125 × mm + 1",
      ]
    `);
  });

  test("diffContracts: limits, speed, unit, rate, camera, side", async () => {
    expect(await changes((text) => text.replace("[-45, 120]", "[-60, 100]"))).toMatchInlineSnapshot(`
      [
        "range: action_axes arm.elbow.position lower limit was -0.785398163397, is -1.0471975512 rad (wider); upper limit was 2.09439510239, is 1.74532925199 rad (narrower)",
        "range: state_axes arm.elbow.position lower limit was -0.785398163397, is -1.0471975512 rad (wider); upper limit was 2.09439510239, is 1.74532925199 rad (narrower)",
      ]
    `);
    expect(await changes((text) => text.replace("velocity: 60", "velocity: 30"))).toMatchInlineSnapshot(`
      [
        "step: action_axes arm.shoulder.position largest step was 0.0523598775598 rad, is 0.0261799387799 rad",
        "step: action_axes arm.elbow.position largest step was 0.0523598775598 rad, is 0.0261799387799 rad",
      ]
    `);
    expect(await changes((text) => text.replace("unit: deg", "unit: rad").replace("{position", "{unit: deg, position")))
      .toMatchInlineSnapshot(`
      [
        "unit: action_axes arm.shoulder.position native numbers count otherwise; was 0.0174532925199 × deg, is rad",
        "unit: action_axes arm.elbow.position native numbers count otherwise; was 0.0174532925199 × deg, is rad",
        "unit: state_axes arm.shoulder.position native numbers count otherwise; was 0.0174532925199 × deg, is rad",
        "unit: state_axes arm.elbow.position native numbers count otherwise; was 0.0174532925199 × deg, is rad",
      ]
    `);
    expect(await changes((text) => text.replace("control_rate_hz: 20", "control_rate_hz: 25"))).toMatchInlineSnapshot(`
      [
        "step: action_axes arm.shoulder.position largest step was 0.0523598775598 rad, is 0.0418879020479 rad",
        "step: action_axes arm.elbow.position largest step was 0.0523598775598 rad, is 0.0418879020479 rad",
        "robot: control_rate_hz was 20, is 25",
      ]
    `);
    expect(await changes((text) => text.replace("role: front", "role: top"))).toMatchInlineSnapshot(`
      [
        "camera: cameras front is gone",
        "camera: cameras top is new: 640×480, 30 fps",
      ]
    `);
    expect(await changes((text) => text.replace("width: 640", "width: 320"))).toMatchInlineSnapshot(`
      [
        "camera: cameras front width was 640, is 320",
      ]
    `);
    expect(await changes((text) => text.replace("kind: arm", "kind: arm\n    side: left"))).toMatchInlineSnapshot(`
      [
        "group: groups arm side was none, is left",
      ]
    `);
    expect(await changes((text) => text.replace("zero: urdf", "zero: driver"))).toMatchInlineSnapshot(`
      [
        "group: groups arm zero was urdf, is driver",
      ]
    `);
  });

  test("diffContracts: cameras and groups without axes in another order", async () => {
    const head = "  - {name: head, kind: head, elements: [pan], unit: calibrated_range, state: [], action: none}\n";
    const mast = head.replace("head,", "mast,");
    expect(await changes((text) => text.replace("cameras", `${head}cameras`))).toMatchInlineSnapshot(`
      [
        "group: groups head is new, of kind head",
      ]
    `);
    const [one, other] = await Promise.all(
      [head + mast, mast + head].map((groups) => contractOf(ARM.replace("cameras", `${groups}cameras`))),
    );
    expect(one && other && diffContracts(one, other)).toMatchInlineSnapshot(`
      [
        {
          "kind": "group",
          "what": "was at index 2, is at index 3",
          "where": "groups head",
        },
        {
          "kind": "group",
          "what": "was at index 3, is at index 2",
          "where": "groups mast",
        },
      ]
    `);
    const camera = "  - {role: top, mount: exterior, width: 640, height: 480, fps: 30}\n";
    const [last, first] = await Promise.all(
      [
        ["configuration_files", ""],
        ["  - {role: front", ""],
      ].map(([before = ""]) => contractOf(ARM.replace(before, camera + before))),
    );
    expect(last && first && diffContracts(last, first)).toMatchInlineSnapshot(`
      [
        {
          "kind": "camera",
          "what": "was at index 0, is at index 1",
          "where": "cameras front",
        },
        {
          "kind": "camera",
          "what": "was at index 1, is at index 0",
          "where": "cameras top",
        },
      ]
    `);
  });

  test("diffContracts: added and removed axes", async () => {
    expect(
      await changes((text) =>
        text.replace(
          /^.*gripper.*$/m,
          "  - {name: head, kind: head, elements: [pan], unit: rad, zero: urdf, limits: {position: [[-1, 1]]}}",
        ),
      ),
    ).toMatchInlineSnapshot(`
      [
        "removed: action_axes gripper.gripper.position is gone; it was at index 2",
        "added: action_axes head.pan.position is new, at index 2: -1 … 1 rad, native rad",
        "removed: state_axes gripper.gripper.position is gone; it was at index 2",
        "added: state_axes head.pan.position is new, at index 2: -1 … 1 rad, native rad",
        "robot: gripper was continuous, is none",
        "group: groups gripper is gone",
        "group: groups head is new, of kind head",
      ]
    `);
  });

  test("diffContracts: every example differs from every other, and says so", async () => {
    const golden = new URL("../../../golden/robot-manifest/examples/", import.meta.url);
    const contracts = await Promise.all(
      ["so101", "aloha", "lekiwi", "widowx", "g1-dex3", "franka-droid"].map((name) =>
        contractOf(readFileSync(new URL(`${name}.yaml`, golden), "utf8")),
      ),
    );
    for (const before of contracts) {
      for (const after of contracts) expect(diffContracts(before, after).length > 0).toBe(before !== after);
    }
  });
});
