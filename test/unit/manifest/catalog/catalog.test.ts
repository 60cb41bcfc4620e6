import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { CATALOG_ROWS } from "../../../../src/manifest/catalog/rows.ts";
import { catalogAxes } from "../../../../src/manifest/custom/contract.ts";

const golden = parse(readFileSync(new URL("../../../golden/robot-manifest/catalog.yaml", import.meta.url), "utf8")) as {
  readonly types: readonly unknown[];
};

describe("catalog", () => {
  test("CATALOG_ROWS: same text as the golden catalog", () => {
    expect(CATALOG_ROWS).toEqual(golden.types);
  });

  test("CATALOG_ROWS: every source names the files of its numbers", () => {
    for (const { robot_type_id: id, source } of CATALOG_ROWS)
      expect(source.match(/\w\.(?:py|yaml|xml|urdf|xacro|launch|md)\b/g) ?? [], id).not.toEqual([]);
  });

  // range_min and range_max of shoulder_pan to wrist_roll, in public calibration files of LeRobot, in 4096ths of a turn.
  test.each([
    [789, 3037, 948, 3296, 874, 3073, 828, 3129, 159, 3991],
    [813, 3337, 776, 3128, 1038, 3254, 701, 2978, 111, 3980],
    [698, 3260, 838, 3193, 919, 3098, 893, 3215, 103, 3924],
    [666, 3367, 823, 3205, 850, 3054, 908, 3209, 143, 3968],
    [1206, 2832, 824, 3207, 806, 3056, 838, 3201, 0, 4095],
    [861, 3137, 965, 2947, 914, 3013, 833, 2959, 0, 4095],
    [974, 3369, 820, 3231, 910, 3122, 920, 3228, 0, 4095],
    [758, 3447, 1360, 3746, 996, 3200, 577, 2913, 0, 4095],
    [694, 3349, 804, 3220, 795, 3080, 679, 3084, 0, 4095],
  ])("CATALOG_ROWS: no SO-101 leaves the limits of its type, which LeRobot calibrated to %i … %i", (...ranges) => {
    const so101 = CATALOG_ROWS.find(({ robot_type_id: id }) => id === "lerobot.so101-follower.v1");
    const limits = so101?.groups[0]?.limits?.position ?? [];
    expect(limits).toHaveLength(5);
    for (const [joint, [low, high]] of limits.entries()) {
      const [first = 0, last = 0] = ranges.slice(2 * joint);
      const half = ((last - first) / 4095) * Math.PI;
      expect(half).toBeLessThanOrEqual(Math.min(high, -low));
    }
  });

  test("READY_CATALOG: agrees with the rows", () => {
    expect([...READY_CATALOG].map(([id, { display_name: name, hosted }]) => [id, name, hosted])).toEqual(
      CATALOG_ROWS.map((row) => [row.robot_type_id, row.display_name, row.hosted]),
    );
  });

  test("catalogAxes: as many of every type as the specification lists", () => {
    const axes = CATALOG_ROWS.map((row) => {
      const { state_axes: state, action_axes: action } = catalogAxes(row);
      return `${row.robot_type_id} ${state.length}/${action.length}, ${row.control_rate_hz} Hz`;
    });
    expect(axes).toEqual([
      "lerobot.so101-follower.v1 6/6, 30 Hz",
      "lerobot.bi-so101-follower.v1 12/12, 30 Hz",
      "lerobot.lekiwi.v1 9/9, 30 Hz",
      "trossen.aloha-bimanual.v1 14/14, 50 Hz",
      "droid.franka-panda.v1 8/8, 15 Hz",
      "yam.bimanual-joint-position.v1 14/14, 30 Hz",
      "unitree.g1-dex3.v1 28/28, 30 Hz",
      "unitree.g1-dex1.v1 16/16, 30 Hz",
      "bridge.widowx-250.v1 7/7, 5 Hz",
      "ur.ur5e-2f85.v1 7/7, 20 Hz",
    ]);
  });
});
