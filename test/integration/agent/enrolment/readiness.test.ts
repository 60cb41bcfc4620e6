/** What the heartbeats of a robot say of it, as the service shows it. */
import { readFile, rm, writeFile } from "node:fs/promises";

import { expect, test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import type { Robot } from "../../../support/robot/robot.ts";
import { createScene, type Scene } from "../../../support/service/scene.ts";
import { enroll, ENROLLED, installation } from "./scene.ts";

interface Break {
  readonly what: string;
  readonly reason: RegExp;
  apply(robot: Robot): Promise<unknown>;
}

const BREAKS: readonly Break[] = [
  {
    what: "a listed file is gone",
    reason: /^Not registering: \S*robot-manifest\.yaml:\d+:\d+: Cannot find \S*left\.yaml: create it/,
    apply: ({ paths }) => rm(paths[0] ?? ""),
  },
  {
    what: "the manifest is invalid",
    reason: /^Not registering: \S*robot-manifest\.yaml:1:\d+: Flow sequence/,
    apply: ({ manifestPath }) => writeFile(manifestPath, "configuration_files: ["),
  },
  {
    what: "the manifest is a draft",
    reason: /^The manifest is a draft; set status: ready/,
    apply: async ({ manifestPath }) =>
      writeFile(manifestPath, `status: draft\n${await readFile(manifestPath, "utf8")}`),
  },
];

test.for(BREAKS)("$what → not ready, with file and cause in 200 characters; mended → ready", async (broken) => {
  const deep = `${"calibrations/".repeat(12)}left.yaml`;
  await using scene = await createScene({ ...ENROLLED, files: { [deep]: "offset: 1\n", "right.json": "{}\n" } });
  const { robot } = scene;
  const clock = new PushedClock();
  await using daemon = await robot.start({}, clock);
  await enroll(scene, daemon, clock);
  await untilReported(scene, clock, { readiness: "ready", reason: null });
  const files = [robot.manifestPath, ...robot.paths];
  const intact = await Promise.all(files.map((path) => readFile(path, "utf8")));

  await broken.apply(robot);
  await untilReported(scene, clock, { readiness: "not_ready", reason: expect.stringMatching(broken.reason) });
  const { reason } = await installation(scene);
  expect([...(reason ?? "")].length).toBeLessThanOrEqual(200);

  for (const [index, path] of files.entries()) await writeFile(path, intact[index] ?? "");
  await untilReported(scene, clock, { readiness: "ready", reason: null });
});

/** Advances the agent's clock until the service has such a report of the robot. */
async function untilReported(scene: Scene, clock: PushedClock, report: object): Promise<void> {
  await expect
    .poll(() => {
      clock.push(1000);
      return installation(scene);
    })
    .toMatchObject(report);
}
