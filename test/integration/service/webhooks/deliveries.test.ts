import { expect, it } from "vitest";
import * as z from "zod";

import { WEBHOOK_SETTINGS } from "../../../../src/service/webhooks/rules.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";
import { openScene } from "../enrolments/scene.ts";
import {
  answerWith,
  createWebhook,
  deliveriesOf,
  LOCAL,
  setUp,
  startReceiver,
  verified,
  webhookOf,
} from "./receiver.ts";

const SOON = { timeout: PATIENCE_MS, interval: 20 };
const DAY_MS = 24 * 60 * 60 * 1000;

const auditSchema = z.object({
  items: z.array(z.object({ action: z.string(), subject_id: z.string(), details: z.record(z.string(), z.unknown()) })),
});

const serve = (store: Parameters<typeof openScene>[0], webhooks: object = {}) =>
  testService({ store, configuration: { rateLimit: null, webhooks: { ...LOCAL, ...webhooks } } });

describeOnEachStore("deliveries of webhooks", (newStore) => {
  it("robot registered, changed, and registered again unchanged → two signed events", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    const { id, secret } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    await setUp(running, "arm-1", { region: "there", labels: { line: "4" } });
    await setUp(running, "arm-1", { region: "there", labels: { line: "4" } });
    await expect.poll(() => receiver.received.length, SOON).toBe(2);
    const [first, second] = receiver.received.map((one) => verified(one, secret));
    expect(first).toMatchObject({ type: "robot.registered", data: { name: "arm-1", region: "here" } });
    expect(second).toMatchObject({
      type: "robot.changed",
      data: { name: "arm-1", region: "there", changed: ["region", "labels"] },
    });
    const delivered = async () =>
      (await deliveriesOf(running, id)).map(({ status, last_status: last }) => [status, last]);
    await expect.poll(delivered, SOON).toEqual([
      ["delivered", 204],
      ["delivered", 204],
    ]);
    expect((await deliveriesOf(running, id)).map((delivery) => delivery.event_id)).toEqual(
      receiver.received.map((one) => one.id).toReversed(),
    );
    expect(running.log()).not.toContain(secret);
  });

  it("two webhooks → each receiver gets the event once, signed with its own secret", async () => {
    const running = await serve(await newStore());
    const receivers = [await startReceiver(), await startReceiver()];
    const secrets: string[] = [];
    for (const { url } of receivers) secrets.push((await createWebhook(running, url)).secret);
    await setUp(running, "arm-1");
    for (const [index, receiver] of receivers.entries()) {
      await expect.poll(() => receiver.received.length, SOON).toBe(1);
      const events = receiver.received.map((one) => verified(one, secrets[index] ?? ""));
      expect(events).toMatchObject([{ type: "robot.registered", data: { name: "arm-1" } }]);
    }
    expect(receivers.map(({ received }) => received.length)).toEqual([1, 1]);
  });

  it("computer enrolls before it read its files → its first setup is robot.registered, the next robot.changed", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    const { secret } = await createWebhook(running, receiver.url, ["robot.registered", "robot.changed"]);
    const robot = new RobotComputer(() => running.url);
    const started = await robot.start();
    await running.send("POST", "/v1/robots/approve", { user_code: started.user_code });
    await robot.poll(started);
    const setup = { name: "arm-1", robot_type_id: "so101", configuration_digest: `sha256:${"1".repeat(64)}` };
    for (const [index, region] of ["here", "there"].entries()) {
      await robot.send("POST", "/v1/robots/setup", { ...setup, region });
      await expect.poll(() => receiver.received.length, SOON).toBe(index + 1);
    }
    const [first, second] = receiver.received.map((one) => verified(one, secret));
    expect(first).toMatchObject({ type: "robot.registered", data: { name: "arm-1", region: "here" } });
    expect(first).not.toHaveProperty("data.changed");
    expect(second).toMatchObject({ type: "robot.changed", data: { changed: ["region"] } });
  });

  it("computer enrolls, its key is copied → robot.enrolled, robot.frozen", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    const { secret } = await createWebhook(running, receiver.url, ["robot.enrolled", "robot.frozen"]);
    const robot = new RobotComputer(() => running.url);
    const started = await robot.start();
    await running.send("POST", "/v1/robots/approve", { user_code: started.user_code });
    await robot.poll(started);
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    await robot.heartbeat();
    const copied = robot.copy();
    await robot.renew();
    await robot.heartbeat();
    await copied.renew();
    await copied.heartbeat();
    expect((await robot.heartbeat()).status).toBe(403);
    await expect.poll(() => receiver.received.length, SOON).toBe(2);
    const events = receiver.received.map((one) => verified(one, secret));
    const of = { name: "arm-1", installation_id: robot.installationId };
    expect(events).toMatchObject([
      { type: "robot.enrolled", data: { ...of, is_new: true } },
      { type: "robot.frozen", data: { ...of, address: "127.0.0.1" } },
    ]);
  });

  it("receiver fails → retried by schedule with the same id, then failed; resend → delivered", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    const { running, advance } = await openScene(await newStore(), { webhooks: LOCAL });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    for (const [index, pauseMs] of [...WEBHOOK_SETTINGS.retryMs, null].entries()) {
      await expect.poll(() => receiver.received.length, SOON).toBe(index + 1);
      await expect.poll(async () => (await deliveriesOf(running, id))[0]?.attempts, SOON).toBe(index + 1);
      const [delivery] = await deliveriesOf(running, id);
      expect(delivery).toMatchObject({ last_status: 500, last_error: "answered 500" });
      expect(delivery?.status).toBe(pauseMs === null ? "failed" : "pending");
      if (pauseMs === null) continue;
      const waitMs = Date.parse(delivery?.next_attempt_at ?? "") - Date.parse(delivery?.last_attempt_at ?? "");
      expect(Math.abs(waitMs / pauseMs - 1)).toBeLessThanOrEqual(0.1);
      advance(waitMs);
    }
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1);
    expect((await webhookOf(running, id))?.failing_since).not.toBeNull();
    receiver.answer = answerWith(200);
    const [failed] = await deliveriesOf(running, id);
    await running.send("POST", `/v1/webhooks/${id}/deliveries/${failed?.id}/resend`);
    await expect.poll(async () => (await deliveriesOf(running, id))[0]?.status, SOON).toBe("delivered");
    expect(receiver.received.at(-1)?.id).toBe(receiver.received[0]?.id);
    expect((await webhookOf(running, id))?.failing_since).toBeNull();
  });

  it.each([
    ["answers 410", "gone", 410],
    ["fails for days", "failing", 503],
  ])("receiver %s → the webhook is disabled, with an audit entry", async (_what, reason, status) => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(status);
    const retryMs = reason === "gone" ? WEBHOOK_SETTINGS.retryMs : [3 * DAY_MS, 3 * DAY_MS];
    const { running, advance } = await openScene(await newStore(), { webhooks: { ...LOCAL, retryMs } });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    for (const attempt of reason === "gone" ? [] : [1, 2]) {
      await expect.poll(async () => (await deliveriesOf(running, id))[0]?.attempts, SOON).toBe(attempt);
      advance(4 * DAY_MS);
    }
    await expect.poll(async () => (await webhookOf(running, id))?.disabled_reason, SOON).toBe(reason);
    const audited = auditSchema.parse(await (await running.send("GET", "/v1/me/audit")).json());
    expect(audited.items[0]).toMatchObject({ action: "webhook.disable", subject_id: id, details: { reason } });
    const before = await deliveriesOf(running, id);
    await setUp(running, "arm-2");
    expect(await deliveriesOf(running, id)).toEqual(before);
    expect((await running.send("POST", `/v1/webhooks/${id}/test`)).status).toBe(409);
  });

  it("disabled and enabled at once → pending deliveries fail, and new events are delivered", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    const webhooks = { ...LOCAL, pendingMaximum: 1 };
    const { running, advance } = await openScene(await newStore(), { webhooks });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    const attempts = async () => (await deliveriesOf(running, id))[0]?.attempts;
    await expect.poll(attempts, SOON).toBe(1);
    advance(10_000);
    // Due at this time: the second attempt, and the check that the webhook is full.
    await expect.poll(attempts, SOON).toBe(2);
    await expect.poll(async () => (await webhookOf(running, id))?.full_since, SOON).not.toBeNull();
    const before = receiver.received.length;
    receiver.answer = answerWith(204);
    for (const disabled of [true, false]) await running.send("PATCH", `/v1/webhooks/${id}`, { disabled });
    await setUp(running, "arm-2");
    const states = async () =>
      (await deliveriesOf(running, id)).map(({ status, last_error: error }) => [status, error]);
    // Advance the clock only after the delivery; otherwise a running request exceeds its time limit and is sent again.
    await expect.poll(async () => (await states())[0], SOON).toEqual(["delivered", null]);
    const statesLater = () => {
      advance(DAY_MS);
      return states();
    };
    await expect.poll(statesLater, SOON).toEqual([
      ["delivered", null],
      ["failed", "the webhook was disabled"],
    ]);
    expect(receiver.received.length).toBe(before + 1);
  });

  it("410 from a former URL → the webhook is not disabled, and the new URL gets the event", async () => {
    const [former, receiver] = [await startReceiver(), await startReceiver()];
    const received410 = Promise.withResolvers<Parameters<typeof former.answer>[0]>();
    former.answer = received410.resolve;
    const running = await serve(await newStore());
    const { id } = await createWebhook(running, former.url);
    await setUp(running, "arm-1");
    const response = await received410.promise;
    await running.send("PATCH", `/v1/webhooks/${id}`, { url: receiver.url });
    answerWith(410)(response);
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    await expect.poll(async () => (await deliveriesOf(running, id))[0]?.status, SOON).toBe("delivered");
    expect(await webhookOf(running, id)).toMatchObject({ disabled_at: null, failing_since: null });
  });

  it("redirect → failed, not followed", async () => {
    const [running, receiver, other] = [await serve(await newStore()), await startReceiver(), await startReceiver()];
    receiver.answer = answerWith(307, { location: other.url });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await expect.poll(async () => (await deliveriesOf(running, id))[0]?.last_error, SOON).toBe("answered 307");
    expect(other.received).toEqual([]);
  });

  it("endless answer → delivered without reading it to its end", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    receiver.answer = (response) => {
      response.writeHead(200);
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(1024)));
      };
      response.on("drain", write);
      write();
    };
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await expect.poll(async () => (await deliveriesOf(running, id))[0]?.status, SOON).toBe("delivered");
  });

  it("silent receivers → other webhooks are not delayed", async () => {
    const [running, silent, receiver] = [await serve(await newStore()), await startReceiver(), await startReceiver()];
    silent.answer = () => {};
    for (let count = 0; count < 3; count += 1) await createWebhook(running, silent.url);
    const { id } = await createWebhook(running, receiver.url);
    for (let count = 0; count < 10; count += 1) await setUp(running, `arm-${count}`);
    await expect.poll(() => receiver.received.length, SOON).toBe(10);
    const statuses = async () => (await deliveriesOf(running, id)).map(({ status }) => status);
    await expect.poll(statuses, SOON).toEqual(Array.from({ length: 10 }, () => "delivered"));
    expect(silent.received.length).toBeLessThanOrEqual(6);
  });

  it("failing receivers → at most half of the attempts of an organization", async () => {
    const webhooks = { timeoutMs: 250, retryMs: Array.from({ length: 1000 }, () => 10) };
    const running = await serve(await newStore(), webhooks);
    const [silent, receiver] = [await startReceiver(), await startReceiver()];
    let open = 0;
    let mostOpen = 0;
    silent.answer = (response) => {
      mostOpen = Math.max(mostOpen, (open += 1));
      response.on("close", () => (open -= 1));
    };
    const dead = await Promise.all(Array.from({ length: 8 }, () => createWebhook(running, silent.url)));
    await setUp(running, "arm-1");
    for (const { id } of dead)
      await expect.poll(async () => (await webhookOf(running, id))?.failing_since, SOON).not.toBeNull();
    await createWebhook(running, receiver.url);
    await expect.poll(() => open, SOON).toBeLessThanOrEqual(4);
    mostOpen = open;
    for (let count = 2; count <= 9; count += 1) await setUp(running, `arm-${count}`);
    // One whose answer comes after 250 ms on a busy machine is sent again, under the same id.
    await expect.poll(() => new Set(receiver.received.map(({ id }) => id)).size, SOON).toBe(8);
    expect(mostOpen).toBeLessThanOrEqual(4);
    const moved = await running.send("PATCH", `/v1/webhooks/${dead[0]?.id}`, { url: receiver.url });
    expect(await moved.json()).toMatchObject({ failing_since: null });
  });

  it("webhook full → new events are counted as dropped until there is room; other webhooks get them", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    const { running, advance } = await openScene(await newStore(), { webhooks: { ...LOCAL, pendingMaximum: 2 } });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await setUp(running, "arm-2");
    const fullSince = async () => {
      advance(10_000);
      return (await webhookOf(running, id))?.full_since;
    };
    await expect.poll(fullSince, SOON).not.toBeNull();
    const other = await createWebhook(running, receiver.url);
    await createWebhook(running, receiver.url, ["robot.frozen"]);
    await setUp(running, "arm-3");
    expect(await deliveriesOf(running, id)).toHaveLength(2);
    expect((await webhookOf(running, id))?.dropped_events).toBe(1);
    expect(await deliveriesOf(running, other.id)).toHaveLength(1);
    expect((await webhookOf(running, other.id))?.dropped_events).toBe(0);
    expect((await running.send("POST", `/v1/webhooks/${id}/test`)).status).toBe(409);
    receiver.answer = answerWith(204);
    await expect.poll(fullSince, SOON).toBeNull();
    await setUp(running, "arm-4");
    await expect.poll(async () => (await deliveriesOf(running, id)).length, SOON).toBe(3);
  });

  it("deleted webhook, deliveries older than the retention → nothing is left", async () => {
    const receiver = await startReceiver();
    const { running, advance } = await openScene(await newStore(), { webhooks: LOCAL });
    const [kept, deleted] = [await createWebhook(running, receiver.url), await createWebhook(running, receiver.url)];
    await setUp(running, "arm-1");
    await expect.poll(() => receiver.received.length, SOON).toBe(2);
    await running.send("DELETE", `/v1/webhooks/${deleted.id}`);
    await expect.poll(async () => (await deliveriesOf(running, kept.id))[0]?.status, SOON).toBe("delivered");
    advance(31 * DAY_MS);
    await expect.poll(() => deliveriesOf(running, kept.id), SOON).toEqual([]);
  });
});
