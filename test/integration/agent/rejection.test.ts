/** Scenario 8: rejected values are findings where they are written, and are sent again only after an edit. */
import { readFile } from "node:fs/promises";

import { describe, expect } from "vitest";

import { replaceIn, type Robot } from "../../support/robot/robot.ts";
import type { Fault } from "../../support/service/fault-proxy.ts";
import { test } from "../../support/service/scene-test.ts";
import { createScene, expectOneRobot, savedRegistration } from "../../support/service/scene.ts";

function refusal(status: number, ...loc: readonly (string | number)[]): Fault {
  const detail = [{ loc: ["body", ...loc], msg: "not as it should be", type: "value_error", input: "…" }];
  return { kind: "answer", status, body: JSON.stringify({ detail }) };
}

/** Each rejected field, and the text at whose position its finding must be. */
const fields: readonly [string, readonly (string | number)[], (robot: Robot) => readonly [string, string]][] = [
  ["name", ["name"], (robot) => [robot.config_path, "arm-7"]],
  ["region", ["region"], (robot) => [robot.config_path, "eu-central-1"]],
  ["site", ["site"], (robot) => [robot.config_path, "hall-2"]],
  ["a label", ["labels", "line"], (robot) => [robot.config_path, "a}"]],
  ["robot_type_id", ["robot_type_id"], (robot) => [robot.manifestPath, "yam.bimanual-joint-position.v1"]],
  ["configuration_digest", ["configuration_digest"], (robot) => [robot.manifestPath, "- "]],
];

describe.concurrent("scenario 8: 422", () => {
  test("for every field → one request, and a finding for each at file:line:column", async ({ scene, proxy, robot }) => {
    const detail = fields.map(([, loc]) => ({ loc: ["body", ...loc], msg: "no", type: "value_error" }));
    proxy.inject({ kind: "answer", status: 422, body: JSON.stringify({ detail }) });
    await using daemon = await robot.start();
    const { findings, healthy } = await daemon.until(({ state }) => state === "rejected");
    expect(healthy).toBe(false);
    const places = await Promise.all(fields.map(([, , placeOf]) => positionOf(...placeOf(robot))));
    expect(findings.map(({ id, file, line, column }) => ({ id, file, line, column }))).toEqual(
      places.map((place) => ({ id: "rejected", ...place })),
    );
    const status = await robot.run(["status"]);
    expect(status.code).toBe(6);
    for (const { file, line, column } of places) expect(status.stderr).toContain(`${file}:${line}:${column}: `);

    await daemon.lookAgain();
    expect(proxy.requests).toHaveLength(1);
    await replaceIn(robot.config_path, "region: eu-central-1", "region: eu-west-1");
    const { findings: remaining } = await expectOneRobot(scene, daemon);
    expect(remaining).toEqual([]);
    expect(proxy.requests).toHaveLength(2);
  });
});

describe.concurrent("scenario 8: rejected → sent again only after", () => {
  const edits: readonly [string, (robot: Robot) => Promise<void>][] = [
    ["an edit of the configuration", (robot) => replaceIn(robot.config_path, "{line: a}", "{line: b}")],
    ["an edit of a configuration file", (robot) => replaceIn(robot.path("left.yaml"), "offset: 1", "offset: 5")],
    [
      "an edit of the manifest",
      (robot) => replaceIn(robot.manifestPath, "yam.bimanual-joint-position.v1", "lerobot.so101-follower.v1"),
    ],
  ];
  const cases = [400, 413, 422].flatMap((status, index) => {
    const [what, edit] = edits[index] ?? ["", async () => {}];
    return [{ status, what, edit }];
  });

  test.for(cases)("$what ($status)", async ({ status, edit }, { expect }) => {
    await using scene = await createScene();
    const { proxy, robot } = scene;
    proxy.inject(refusal(status, "region"));
    await using daemon = await robot.start();
    const { failure } = await daemon.until(({ state }) => state === "rejected");
    expect(failure?.reason).toBe(`http-${status}`);
    expect(Date.parse(failure?.next_attempt_at ?? "") - Date.now()).toBeGreaterThan(50 * 60_000);
    // Neither SIGHUP nor a resync sends the same request again.
    daemon.hangUp();
    await daemon.untilLogged("reload");
    await daemon.lookAgain();
    expect(proxy.requests).toHaveLength(1);
    expect(await savedRegistration(robot)).toBeNull();

    await edit(robot);
    await expectOneRobot(scene, daemon);
    expect(proxy.requests).toHaveLength(2);
  });
});

test.concurrent("scenario 8: an edit is rejected, then undone → healthy without another request", async () => {
  await using scene = await createScene();
  const { proxy, robot } = scene;
  await using daemon = await robot.start();
  const { registration } = await expectOneRobot(scene, daemon);
  proxy.inject(refusal(422, "site"));
  await replaceIn(robot.config_path, "site: hall-2", "site: hall-9");
  const rejected = await daemon.until(({ state }) => state === "rejected");
  expect(rejected.registration).toEqual(registration);

  await replaceIn(robot.config_path, "site: hall-9", "site: hall-2");
  const restored = await daemon.until(({ state }) => state === "registered");
  expect(restored).toMatchObject({ healthy: true, findings: [], registration });
  expect(proxy.requests).toHaveLength(2);
  await expectOneRobot(scene, daemon);
});

/** Line and column, from 1, of the first occurrence of the text. */
async function positionOf(file: string, text: string): Promise<{ file: string; line: number; column: number }> {
  const before = (await readFile(file, "utf8")).split(text)[0] ?? "";
  const lines = before.split("\n");
  return { file, line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
}
