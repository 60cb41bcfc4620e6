/** The service is restored from a backup that is older than the credentials of its robots. */
import { basename, join } from "node:path";

import { expect, test } from "vitest";

import type { StatusDocument } from "../../../../src/agent/status.ts";
import { testFolder } from "../../../support/folder.ts";
import { PushedClock } from "../../../support/pushed-clock.ts";
import type { Daemon } from "../../../support/robot/daemon.ts";
import { createRobot, type Robot } from "../../../support/robot/robot.ts";
import { runServiceCommand } from "../../../support/service/service-command.ts";
import { startService } from "../../../support/service/service.ts";
import { newSqliteFolder } from "../../../support/service/sqlite-folder.ts";
import {
  advanceUntil,
  approve,
  beginEnrolment,
  enroll,
  ENROLLED,
  readIdentityFile,
  ServiceClock,
  shownCode,
} from "./scene.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

test("service restored from a backup → its robots work again, none is frozen; unknown ones say that they must enroll", async () => {
  const folder = testFolder("restored");
  const clock = new PushedClock();
  const serviceClock = new ServiceClock();
  await using resources = new AsyncDisposableStack();
  const dataDirectory = await newSqliteFolder(`${basename(folder)}/store-`);
  let service = await startService({ dataDirectory, clock: serviceClock });
  const { url } = service;

  async function startRobot(name: string, ownClock = clock): Promise<Daemon & { readonly robot: Robot }> {
    const robot = resources.use(await createRobot({ service_url: url, key: service.key, name, ...ENROLLED }));
    return { ...resources.use(await robot.start({}, ownClock)), robot };
  }
  async function enrolled(name: string): ReturnType<typeof startRobot> {
    const robot = await startRobot(name);
    await enroll({ service }, robot, clock);
    return robot;
  }
  async function remove(robot: Daemon, name: string): Promise<void> {
    await service.send("DELETE", `/v1/robots/${name}`);
    await advanceUntil(robot, clock, ({ state }) => state === "unenrolled");
  }
  async function untilRenewed({ robot, until }: Awaited<ReturnType<typeof startRobot>>): Promise<void> {
    const token = async () => (await readIdentityFile({ robot }, "credential"))["installation_token"];
    const before = await token();
    serviceClock.aheadMs += 17 * HOUR_MS;
    await until(async () => {
      clock.push(10_000);
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
  const waitingClock = new PushedClock();
  const waiting = await startRobot("waiting", waitingClock);
  const lostCode = await shownCode(waiting);

  await service[Symbol.asyncDispose]();
  const store = { kind: "sqlite", dataDirectory: join(folder, "data") } as const;
  const restored = await runServiceCommand("restore", backup, "--data", store.dataDirectory);
  expect(restored).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("revoked or removed") });
  service = resources.use(
    await startService({ store, dataDirectory, port: Number(new URL(url).port), clock: serviceClock }),
  );

  // A code that ended before its first poll delays the next one, so the clock has to go on. Later jumps of the service's clock would end it.
  const hasNewCode = ({ identity: current }: StatusDocument) =>
    ![undefined, null, lostCode].includes(current?.user_code);
  const { identity } = await advanceUntil(waiting, waitingClock, hasNewCode, 10_000);
  await approve({ service }, identity?.user_code ?? "");
  await advanceUntil(waiting, waitingClock, ({ state }) => state === "registered");

  const installation = async () => (await service.send("GET", "/v1/robots/renewer/installation")).json();

  // The robot has a credential of generation 3, while the service knows generation 1.
  await untilRenewed(renewer);
  // A robot whose credential was doubted renews again after five minutes at the earliest.
  clock.push(6 * MINUTE_MS);
  await untilRenewed(renewer);
  expect(await installation()).toMatchObject({ state: "active" });
  const entry = { action: "installation.renew_out_of_order", subject_name: "renewer" };
  expect(await (await service.send("GET", "/v1/me/audit")).json()).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining(entry)]),
  });

  await advanceUntil(newcomer, clock, ({ state }) => state === "unenrolled");
  const { user_code: code } = await beginEnrolment(newcomer);
  await approve({ service }, code);
  await advanceUntil(newcomer, clock, ({ state }) => state === "registered");

  // Unenrolled robots ask once an hour. The backup contains only the first removal; `restore` lists what it cannot know.
  clock.push(70 * MINUTE_MS);
  await advanceUntil(removedAfter, clock, ({ state }) => state === "registered");
  expect((await removedBefore.status()).state).toBe("unenrolled");
});
