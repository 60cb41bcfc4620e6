import { rm } from "node:fs/promises";

import { expect, it, onTestFinished } from "vitest";

import type { EnrolmentStarted } from "../../../../src/api/enrolments.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { newSqliteFolder } from "../../../support/service/sqlite-folder.ts";

it("an enrolment goes on after a restart of the service at every step, and costs one more poll at most", async () => {
  const dataDirectory = await newSqliteFolder("enrolments-");
  onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
  let url = "";
  const robot = new RobotComputer(() => url);
  /** Does this at a service that starts for it, and stops afterwards. */
  const atNewService = async <T>(step: (running: RunningService) => Promise<T>): Promise<T> => {
    await using running = await startService({ dataDirectory });
    url = running.url;
    return await step(running);
  };
  const started: EnrolmentStarted = await atNewService(() => robot.start());
  expect(await atNewService(() => robot.poll(started))).toMatchObject({ status: "pending" });
  const approval = { user_code: started.user_code };
  expect((await atNewService((running) => running.send("POST", "/v1/robots/approve", approval))).status).toBe(200);
  const lost = await atNewService(() => robot.poll(started));
  const kept = await atNewService(() => robot.poll(started));
  if (lost.status !== "approved" || kept.status !== "approved") throw new Error("not approved");
  expect(kept.installation_id).toBe(lost.installation_id);
  expect((await atNewService(() => robot.heartbeat({}, lost.installation_token))).status).toBe(401);
  expect((await atNewService(() => robot.heartbeat())).status).toBe(200);
  expect(await atNewService(() => robot.poll(started))).toEqual({ status: "consumed" });
  expect((await atNewService(() => robot.heartbeat())).status).toBe(200);
  expect(await atNewService((running) => running.robots())).toHaveLength(1);
});
