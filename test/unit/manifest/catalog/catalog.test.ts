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
