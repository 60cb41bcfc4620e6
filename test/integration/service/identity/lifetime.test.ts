import { expect, it } from "vitest";

import { describeOnEachStore } from "../../../support/service/stores.ts";
import { openScene, refusalOf, requestPoll } from "./scene.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describeOnEachStore("enrolment", (newStore) => {
  it("ten minutes, approved or not → expired; polls say so for a day", async () => {
    const { advance, computer, approve } = await openScene(await newStore());
    const [waiting, approved] = [computer(), computer()];
    const [first, second] = [await waiting.start(), await approved.start({ requested_name: "arm-2" })];
    expect((await approve(second)).status).toBe(200);
    advance(9 * MINUTE_MS);
    expect(await waiting.poll(first)).toMatchObject({ status: "pending" });
    advance(MINUTE_MS);
    for (const lastsMs of [0, 1000, DAY_MS - MINUTE_MS]) {
      advance(lastsMs);
      expect(await waiting.poll(first)).toEqual({ status: "expired" });
      expect(await approved.poll(second)).toEqual({ status: "expired" });
      expect((await approve(first)).status).toBe(404);
    }
    advance(2 * MINUTE_MS);
    const status = async () => {
      // A task that is running sees the new time only at its next run.
      advance(MINUTE_MS);
      return (await requestPoll(waiting, first)).status;
    };
    await expect.poll(status).toBe(404);
  });

  it("approved and polled, its credential unused at the end → consumed, and the robot can renew", async () => {
    const { advance, computer, approve } = await openScene(await newStore());
    const robot = computer();
    const started = await robot.start();
    await approve(started);
    expect(await robot.poll(started)).toMatchObject({ status: "approved" });
    advance(11 * MINUTE_MS);
    expect(await robot.poll(started)).toEqual({ status: "consumed" });
    expect((await robot.heartbeat()).status).toBe(200);
    expect(await robot.renew()).toMatchObject({ generation: 2, recovered: false });
  });

  it("identity.codeTtlMs → the lifetime", async () => {
    const { advance, computer } = await openScene(await newStore(), { identity: { codeTtlMs: 2 * MINUTE_MS } });
    const robot = computer();
    const started = await robot.start();
    advance(MINUTE_MS);
    expect(await robot.poll(started)).toMatchObject({ status: "pending" });
    advance(MINUTE_MS);
    expect(await robot.poll(started)).toEqual({ status: "expired" });
  });

  it("expires without an installation → its enrollment key gets the use back; with one → it does not", async () => {
    const { advance, computer, enrollmentKey, usesOf } = await openScene(await newStore());
    const key = await enrollmentKey(5);
    const [installed, idle] = [computer(), computer()];
    const started = await installed.start({ requested_name: "arm-1" }, key.api_key);
    await idle.start({ requested_name: "arm-2" }, key.api_key);
    expect(await installed.poll(started)).toMatchObject({ status: "approved" });
    expect(await usesOf(key.id)).toBe(3);
    advance(11 * MINUTE_MS);
    const uses = () => {
      advance(MINUTE_MS);
      return usesOf(key.id);
    };
    await expect.poll(uses).toBe(4);
  });

  it("approved without confirm_replace, robot online before the poll → denied, and the log says why", async () => {
    const { running, computer, approve, advance } = await openScene(await newStore());
    const [old, fresh] = [computer(), computer()];
    const first = await old.start();
    await approve(first);
    await old.poll(first);
    const second = await fresh.start();
    expect((await approve(second)).status).toBe(200);
    await old.heartbeat();
    expect(await fresh.poll(second)).toEqual({ status: "denied" });
    expect(running.log()).toContain("the robot came online after the approval");
    expect((await old.heartbeat()).status).toBe(200);
    // Once the robot is offline, it is replaced without confirmation.
    advance(91_000);
    const third = await fresh.start();
    await approve(third);
    expect(await fresh.poll(third)).toMatchObject({ status: "approved" });
    expect(await refusalOf(await old.heartbeat())).toEqual([401, "installation_revoked"]);
  });

  it("approved again with confirm_replace after the robot came online → replaces it", async () => {
    const { computer, approve } = await openScene(await newStore());
    const [old, fresh] = [computer(), computer()];
    const first = await old.start();
    await approve(first);
    await old.poll(first);
    const second = await fresh.start();
    await approve(second);
    await old.heartbeat();
    expect((await approve(second, { confirm_replace: true })).status).toBe(200);
    expect(await fresh.poll(second)).toMatchObject({ status: "approved" });
  });

  it("replaces an existing robot → the change is in its registration history", async () => {
    const { running, computer, approve } = await openScene(await newStore());
    const setup = {
      name: "arm-1",
      robot_type_id: "so101_follower",
      region: "us-west-2",
      configuration_digest: `sha256:${"1".repeat(64)}`,
      labels: { line: "4" },
    };
    await running.send("POST", "/v1/robots/setup", setup);
    const robot = computer();
    const started = await robot.start({ region: "eu-west-1", configuration_digest: `sha256:${"2".repeat(64)}` });
    await approve(started);
    await robot.poll(started);
    expect(await (await running.send("GET", "/v1/robots/arm-1/history")).json()).toMatchObject({
      items: [
        { region: "eu-west-1", changed: ["region"], configuration_digest: setup.configuration_digest },
        { region: "us-west-2" },
      ],
    });
    // Selectors still match what the enrolment did not change.
    const fleet = { name: "line 4", selection: { mode: "selector", labels: { line: "4" } } };
    const preview = await running.send("POST", "/v1/fleets/preview", fleet);
    expect([200, 422]).toContain(preview.status);
  });
});
