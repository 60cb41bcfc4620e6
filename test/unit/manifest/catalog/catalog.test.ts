import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { summarize } from "../../../../src/manifest/catalog/axes.ts";
import { READY_CATALOG } from "../../../../src/manifest/catalog/ids.ts";
import { loadCatalog } from "../../../../src/manifest/catalog/load-catalog.ts";

const golden = parse(readFileSync(new URL("../../../golden/robot-manifest/catalog.yaml", import.meta.url), "utf8")) as {
  readonly types: readonly {
    readonly robot_type_id: string;
    readonly display_name: string;
    readonly hosted: boolean;
  }[];
};

describe("catalog", () => {
  test("loadCatalog: same text as the golden catalog", async () => {
    expect(await loadCatalog()).toEqual(golden.types);
  });

  test("loadCatalog: every source names the files of its numbers", async () => {
    for (const { robot_type_id: id, source } of await loadCatalog())
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
  ])("loadCatalog: no SO-101 leaves the limits of its type, which LeRobot calibrated to %i … %i", async (...ranges) => {
    const so101 = (await loadCatalog()).find(({ robot_type_id: id }) => id === "lerobot.so101-follower.v1");
    const limits = so101?.groups[0]?.limits?.position ?? [];
    expect(limits).toHaveLength(5);
    for (const [joint, [low, high]] of limits.entries()) {
      const [first = 0, last = 0] = ranges.slice(2 * joint);
      const half = ((last - first) / 4095) * Math.PI;
      expect(half).toBeLessThanOrEqual(Math.min(high, -low));
    }
  });

  test("READY_CATALOG: agrees with the rows", () => {
    expect([...READY_CATALOG]).toEqual(
      golden.types.map(({ robot_type_id: robotTypeId, display_name: displayName, hosted }) => [
        robotTypeId,
        { display_name: displayName, hosted },
      ]),
    );
  });

  test("summarize: axes and rate of every type as the specification lists them", async () => {
    const rows = (await loadCatalog()).map(summarize);
    expect(
      rows.map((row) => [row.robot_type_id, row.hosted, `${row.state_axes}/${row.action_axes}`, row.control_rate_hz]),
    ).toEqual([
      ["lerobot.so101-follower.v1", true, "6/6", 30],
      ["lerobot.bi-so101-follower.v1", false, "12/12", 30],
      ["lerobot.lekiwi.v1", false, "9/9", 30],
      ["trossen.aloha-bimanual.v1", true, "14/14", 50],
      ["droid.franka-panda.v1", true, "8/8", 15],
      ["yam.bimanual-joint-position.v1", true, "14/14", 30],
      ["unitree.g1-dex3.v1", false, "28/28", 30],
      ["unitree.g1-dex1.v1", false, "16/16", 30],
      ["bridge.widowx-250.v1", false, "7/7", 5],
      ["ur.ur5e-2f85.v1", false, "7/7", 20],
    ]);
  });
});
