import { expect, it } from "vitest";

import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { openScene } from "../identity/scene.ts";
import { createWebhook, LOCAL, startReceiver, verifiedLater } from "./receiver.ts";

const SOON = { timeout: PATIENCE_MS, interval: 20 };
const MINUTE_MS = 60_000;
/** The tests advance the clock during deliveries, so the time limit must be longer. */
const WEBHOOKS = { ...LOCAL, timeoutMs: 24 * 60 * MINUTE_MS };

describeOnEachStore("presence in webhooks", (newStore) => {
  async function openRobotScene() {
    const { running, advance, computer, approve } = await openScene(await newStore(), { webhooks: WEBHOOKS });
    const robot = computer();
    const started = await robot.start();
    await approve(started);
    await robot.poll(started);
    return { running, advance, robot };
  }

  it("robot goes offline and comes back → one event each; a short pause → none", async () => {
    const receiver = await startReceiver();
    const { running, advance, robot } = await openRobotScene();
    await robot.heartbeat();
    const { secret } = await createWebhook(running, receiver.url, ["robot.offline", "robot.online"]);
    const types = () => {
      advance(10_000);
      return receiver.received.map((one) => verifiedLater(one, secret).type);
    };
    // The initial state is not an event; otherwise each new webhook would get one for every robot.
    for (let heartbeats = 0; heartbeats < 15; heartbeats += 1) {
      await robot.heartbeat();
      expect(types()).toEqual([]);
    }
    await expect.poll(types, SOON).toEqual(["robot.offline"]);
    await robot.heartbeat();
    const back = async () => {
      await robot.heartbeat();
      return types();
    };
    await expect.poll(back, SOON).toEqual(["robot.offline", "robot.online"]);
    expect(receiver.received.map((one) => verifiedLater(one, secret))).toMatchObject([
      { type: "robot.offline", data: { name: "arm-1", installation_id: robot.installationId } },
      { type: "robot.online", data: { name: "arm-1" } },
    ]);
  });
});
