import { expect, it, onTestFinished } from "vitest";

import { identifiedRobotListSchema } from "../../../../src/api/robot-views.ts";
import { type Clock, systemClock } from "../../../../src/platform/clock.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { type RunningService, startService } from "../../../support/service/service.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";

describeOnEachStore("status of robots", (newStore) => {
  it("robot goes offline without a commit → the cached list is refreshed", async () => {
    let aheadMs = 0;
    const running = await testService({ store: await newStore(), clock: clockAhead(() => aheadMs) });
    const statuses = async () => (await running.robots()).map(({ status }) => status);
    const [first, second] = await enrollAll(() => running, ["arm-1", "arm-2"]);
    expect(await statuses()).toEqual(["offline", "offline"]);
    await first?.heartbeat();
    expect(await statuses()).toEqual(["online", "offline"]);
    aheadMs = 60_000;
    await second?.heartbeat();
    expect(await statuses()).toEqual(["online", "online"]);
    aheadMs = 85_000;
    expect(await statuses()).toEqual(["online", "online"]);
    aheadMs = 92_000;
    expect(await statuses()).toEqual(["offline", "online"]);
    await first?.heartbeat();
    expect(await statuses()).toEqual(["online", "online"]);
    aheadMs = 200_000;
    expect(await statuses()).toEqual(["offline", "offline"]);
  });

  it("?status → from stored reports, and from heartbeats since", async () => {
    let aheadMs = 0;
    const [store, clock] = [await newStore(), clockAhead(() => aheadMs)];
    let running = await startService({ store, clock });
    onTestFinished(() => running[Symbol.asyncDispose]());
    const [first, second, , frozen] = await enrollAll(() => running, ["arm-1", "arm-2", "arm-3", "arm-4"]);
    for (const each of [first, second, frozen]) await each?.heartbeat();
    await freeze(frozen);
    await running[Symbol.asyncDispose]();
    running = await startService({ store, clock });
    const namesOf = async (status: string) =>
      identifiedRobotListSchema
        .parse(await (await running.send("GET", `/v1/robots?status=${status}`)).json())
        .map(({ name }) => name);
    expect(await namesOf("online")).toEqual(["arm-1", "arm-2"]);
    expect(await namesOf("offline")).toEqual(["arm-3", "arm-4"]);
    aheadMs = 95_000;
    await second?.heartbeat();
    expect(await namesOf("online")).toEqual(["arm-2"]);
    expect(await namesOf("offline")).toEqual(["arm-1", "arm-3", "arm-4"]);
  });

  it("a robot cannot register, says so, and can again; one with an API key says nothing", async () => {
    const running = await testService({ store: await newStore() });
    const [computer] = await enrollAll(() => running, ["arm-1"]);
    await running.send("POST", "/v1/robots/setup", { ...SETUP, name: "arm-2" });
    const told = async () =>
      (await running.robots()).map(({ presence, not_ready_reason: reason }) => [presence, reason]);
    const keyed = ["not_monitored", null];
    expect(await told()).toEqual([["offline", null], keyed]);
    await computer?.heartbeat({ readiness: "not_ready", reason: "a file is missing" });
    expect(await told()).toEqual([["not_ready", "a file is missing"], keyed]);
    await computer?.heartbeat();
    expect(await told()).toEqual([["online", null], keyed]);
  });
});

const SETUP = {
  robot_type_id: "so101",
  region: "eu-central-1",
  configuration_digest: `sha256:${"0".repeat(64)}`,
};

function clockAhead(aheadMs: () => number): Clock {
  return {
    ...systemClock,
    wallMs: () => systemClock.wallMs() + aheadMs(),
    monotonicMs: () => systemClock.monotonicMs() + aheadMs(),
  };
}

/** Freezes the installation: its key is used on two computers. */
async function freeze(computer: RobotComputer | undefined): Promise<void> {
  for (const holder of [computer, computer?.copy()]) {
    await holder?.renew();
    await holder?.heartbeat();
  }
  expect((await computer?.heartbeat())?.status).toBe(403);
}

async function enrollAll(running: () => RunningService, names: readonly string[]): Promise<readonly RobotComputer[]> {
  const computers: RobotComputer[] = [];
  for (const name of names) {
    const computer = new RobotComputer(() => running().url);
    const started = await computer.start({ requested_name: name });
    await running().send("POST", "/v1/robots/approve", { user_code: started.user_code });
    expect(await computer.poll(started)).toMatchObject({ status: "approved" });
    computers.push(computer);
  }
  return computers;
}
