/** The service is away, and back: what waits for it is sent soon after. */
import { appendFile } from "node:fs/promises";

import { test } from "vitest";

import { PushedClock } from "../../../support/pushed-clock.ts";
import { createScene, expectOneRobot } from "../../../support/service/scene.ts";
import { ENROLLED, enrol, inTime } from "./scene.ts";

test("after an outage: a changed file is registered half a minute after the first heartbeat, whatever its own delay", async () => {
  await using scene = await createScene(ENROLLED);
  const clock = new PushedClock();
  await using daemon = await scene.robot.start({}, clock);
  await enrol(scene, daemon, clock);
  await scene.proxy.refuse();
  await appendFile(scene.robot.paths[0] ?? "", "\n# edited\n");
  // A heartbeat is tried every two minutes at least, so that one comes before this registration.
  await daemon.until(({ failure }) => {
    if (failure !== null && Date.parse(failure.next_attempt_at) - Date.now() > 200_000) return true;
    clock.push(30_000);
    return false;
  });
  await daemon.untilLogged("heartbeat-failed");
  await scene.proxy.listen();
  const isBack = () => daemon.logged("heartbeats-accepted-again").length > 0;
  await inTime(daemon, clock, isBack);
  // Its own delay has more than a minute left.
  await daemon.until(({ failure }) => failure === null || Date.parse(failure.next_attempt_at) - Date.now() <= 30_000);
  await inTime(daemon, clock, ({ state }) => state === "registered");
  await expectOneRobot(scene, daemon);
});
