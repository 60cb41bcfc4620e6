/** The service is put back from yesterday's backup, and its robots hold credentials that it has never seen. */
import { basename, join } from "node:path";

import { expect, test } from "vitest";

import { testFolder } from "../../../support/folder.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { createRobot, type Robot } from "../../../support/robot/robot.ts";
import { runServiceCommand } from "../../../support/service/service-command.ts";
import { startService } from "../../../support/service/service.ts";
import { newSqliteFolder } from "../../../support/service/sqlite-folder.ts";
import { approve, ENROLLED, enrol, inTime, kept, ServiceClock, shownCode } from "./scene.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("a service restored from a backup: its robots come back, none is frozen, and each that is lost says so", async () => {
  const folder = testFolder("restored");
  const clock = new PushedClock();
  const serviceClock = new ServiceClock();
  await using resources = new AsyncDisposableStack();
  const dataDirectory = await newSqliteFolder(`${basename(folder)}/store-`);
  let service = await startService({ dataDirectory, clock: serviceClock });
  const { url } = service;

  async function startRobot(name: string): Promise<Daemon & { readonly robot: Robot }> {
    const robot = resources.use(await createRobot({ service_url: url, key: service.key, name, ...ENROLLED }));
    return { ...resources.use(await robot.start({}, clock)), robot };
  }
  async function enrolled(name: string): ReturnType<typeof startRobot> {
    const robot = await startRobot(name);
    await enrol({ service }, robot, clock);
    return robot;
  }
  async function remove(robot: Daemon, name: string): Promise<void> {
    await service.send("DELETE", `/v1/robots/${name}`);
    await inTime(robot, clock, ({ state }) => state === "unenrolled");
  }
  async function untilRenewed({ robot, until }: Awaited<ReturnType<typeof startRobot>>): Promise<void> {
    const token = async () => (await kept({ robot }, "credential"))["installation_token"];
    const before = await token();
    serviceClock.aheadMs += 17 * HOUR_MS;
    await until(async () => {
      clock.push(1000);
      return (await token()) !== before;
    });
  }

  const renewer = await enrolled("renewer");
  const removedBefore = await enrolled("removed-before");
  const removedAfter = await enrolled("removed-after");
  await remove(removedBefore, "removed-before");
  const backup = join(folder, "backup.db");
  expect(await runServiceCommand("backup", backup, "--data", dataDirectory)).toMatchObject({ code: 0 });

  await untilRenewed(renewer);
  await untilRenewed(renewer);
  await remove(removedAfter, "removed-after");
  const newcomer = await enrolled("newcomer");
  const waiting = await startRobot("waiting");
  const forgotten = await shownCode(waiting);

  await service[Symbol.asyncDispose]();
  const store = { kind: "sqlite", dataDirectory: join(folder, "data") } as const;
  const restored = await runServiceCommand("restore", backup, "--data", store.dataDirectory);
  expect(restored).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("revoked or removed") });
  service = resources.use(
    await startService({ store, dataDirectory, port: Number(new URL(url).port), clock: serviceClock }),
  );
  const installation = async () => (await service.send("GET", "/v1/robots/renewer/installation")).json();

  // It holds a value of the third generation, and the service knows the first.
  await untilRenewed(renewer);
  await untilRenewed(renewer);
  expect(await installation()).toMatchObject({ state: "active" });
  const entry = { action: "installation.renew_out_of_order", subject_name: "renewer" };
  expect(await (await service.send("GET", "/v1/me/audit")).json()).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining(entry)]),
  });

  await approve({ service }, await shownCode(waiting, forgotten));
  await inTime(waiting, clock, ({ state }) => state === "registered");

  await inTime(newcomer, clock, ({ state }) => state === "unenrolled");
  const { user_code: code } = JSON.parse((await newcomer.robot.run(["enroll", "--no-wait", "--json"])).stdout);
  await approve({ service }, code);
  await inTime(newcomer, clock, ({ state }) => state === "registered");

  // They ask once an hour. The backup knows of the first removal, and `restore` tells of the second.
  clock.push(70 * MINUTE_MS);
  await inTime(removedAfter, clock, ({ state }) => state === "registered");
  expect((await removedBefore.status()).state).toBe("unenrolled");
});
