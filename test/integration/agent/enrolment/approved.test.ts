/** What an approval gives a robot is kept by its registrations, unless its configuration has its own. */

import { expect, test } from "vitest";

import { type IdentifiedRobotView, identifiedRobotViewSchema } from "../../../../src/api/robot-views.ts";
import { replaceIn, setupBodies } from "../../../support/robot/robot.ts";
import type { Scene } from "../../../support/service/scene.ts";
import { advanceUntil, approve, openScene, putEnrolmentKey, SETUP, shownCode } from "./scene.ts";

const GIVEN = { site: "plant-1", labels: { line: "4", shift: "day" } };

test("approval of a robot with a label of its own → it counts, and the rest of what is given is kept", async () => {
  await using scene = await openScene();
  const { robot, service, clock } = scene;
  await replaceIn(robot.config_path, OWN, '  labels: { line: "7" }\n');
  // What the robot of this name had is kept, too.
  await service.send("POST", "/v1/robots/setup", { ...SETUP, site: "plant-1" });
  await using daemon = await robot.start({}, clock);
  await approve(scene, await shownCode(daemon), { labels: GIVEN.labels });
  await advanceUntil(daemon, clock, ({ state }) => state === "registered");
  const kept = { site: "plant-1", labels: { line: "7", shift: "day" } };
  expect(await shown(scene)).toMatchObject(kept);
  // Of the robot itself, not only what the enrolment left behind.
  expect(setupBodies(scene.proxy.requests).at(-1)).toMatchObject(kept);
  const dry = await robot.run(["--setup", "--dry-run", "--json"]);
  expect(JSON.parse(dry.stdout)).toMatchObject({ request: kept });
});

test("key for enrolments → its site and labels are kept; a site in the configuration counts from then on", async () => {
  await using scene = await openScene();
  const { robot, clock } = scene;
  await putEnrolmentKey(scene, GIVEN);
  await replaceIn(robot.config_path, OWN, "");
  await using daemon = await robot.start({}, clock);
  await advanceUntil(daemon, clock, ({ state }) => state === "registered");
  expect(await shown(scene)).toMatchObject(GIVEN);
  expect(setupBodies(scene.proxy.requests).at(-1)).toMatchObject(GIVEN);
  await replaceIn(robot.config_path, "robot:\n", "robot:\n  site: lab\n");
  await advanceUntil(daemon, clock, ({ robot: { view } }) => view?.site === "lab");
  await replaceIn(robot.config_path, "  site: lab\n", "");
  await advanceUntil(daemon, clock, ({ robot: { view } }) => view?.site === "plant-1");
  expect(await shown(scene)).toMatchObject(GIVEN);
});

/** Lines of the configuration that the robots of these tests do without. */
const OWN = "  site: hall-2\n  labels: {line: a}\n";

async function shown({ service }: Scene): Promise<IdentifiedRobotView> {
  return identifiedRobotViewSchema.parse(await (await service.send("GET", "/v1/robots/arm-7")).json());
}
