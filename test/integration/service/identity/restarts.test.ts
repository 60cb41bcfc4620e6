import { rm } from "node:fs/promises";

import { expect, it, onTestFinished } from "vitest";

import type { EnrolmentStarted } from "../../../../src/api/enrolments.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { newSqliteFolder } from "../../../support/service/sqlite-folder.ts";

it("enrolment: service restarts between all steps → completes, with at most one more poll", async () => {
  const dataDirectory = await newSqliteFolder("enrolments-");
  onTestFinished(() => rm(dataDirectory, { recursive: true, force: true }));
  let url = "";
  const robot = new RobotComputer(() => url);
  /** Runs the step with a newly started service. */
  const withNewService = async <T>(step: (running: RunningService) => Promise<T>): Promise<T> => {
    await using running = await startService({ dataDirectory });
    url = running.url;
    return await step(running);
  };
  const started: EnrolmentStarted = await withNewService(() => robot.start());
  expect(await withNewService(() => robot.poll(started))).toMatchObject({ status: "pending" });
  const approval = { user_code: started.user_code };
  expect((await withNewService((running) => running.send("POST", "/v1/robots/approve", approval))).status).toBe(200);
  const lost = await withNewService(() => robot.poll(started));
  const kept = await withNewService(() => robot.poll(started));
  if (lost.status !== "approved" || kept.status !== "approved") throw new Error("not approved");
  expect(kept.installation_id).toBe(lost.installation_id);
  expect((await withNewService(() => robot.heartbeat({}, lost.installation_token))).status).toBe(401);
  expect((await withNewService(() => robot.heartbeat())).status).toBe(200);
  expect(await withNewService(() => robot.poll(started))).toEqual({ status: "consumed" });
  expect((await withNewService(() => robot.heartbeat())).status).toBe(200);
  expect(await withNewService((running) => running.robots())).toHaveLength(1);
});
