import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";

import { SECRET_OVERLAP_HOURS, webhookSecretSchema } from "../../../../src/api/webhooks.ts";
import { WEBHOOK_SETTINGS } from "../../../../src/service/webhooks/index.ts";
import { PATIENCE_MS } from "../../../support/run/patience.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { describeOnEachStore } from "../../../support/service/stores.ts";
import { testService } from "../../../support/service/test-service.ts";
import { openScene } from "../identity/scene.ts";
import { answerWith, createWebhook, LOCAL, setUp, startReceiver, verified, webhookOf } from "./receiver.ts";

const SOON = { timeout: PATIENCE_MS, interval: 20 };
const HOUR_MS = 60 * 60 * 1000;

const serve = (store: Parameters<typeof openScene>[0], webhooks: object = {}) =>
  testService({ store, configuration: { rateLimit: null, webhooks: { ...LOCAL, ...webhooks } } });

describeOnEachStore("deliveries of webhooks", (newStore) => {
  it("robot registered, changed, registered again unchanged, renamed, removed → four signed events", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    const { id, secret } = await createWebhook(running, receiver.url);
    const steps = [
      () => setUp(running, "arm-1"),
      () => setUp(running, "arm-1", { region: "there", labels: { line: "4" } }),
      async () => {
        await setUp(running, "arm-1", { region: "there", labels: { line: "4" } });
        await running.send("PATCH", "/v1/robots/arm-1", { name: "arm-2" });
      },
      () => running.send("DELETE", "/v1/robots/arm-2"),
    ];
    for (const [index, step] of steps.entries()) {
      await step();
      await expect.poll(() => receiver.received.length, SOON).toBe(index + 1);
    }
    expect(receiver.received.map((one) => verified(one, secret))).toMatchObject([
      { type: "robot.registered", data: { name: "arm-1", region: "here" } },
      { type: "robot.changed", data: { name: "arm-1", region: "there", changed: ["region", "labels"] } },
      { type: "robot.renamed", data: { name: "arm-2", name_before: "arm-1" } },
      { type: "robot.removed", data: { name: "arm-2", deployment_id: null } },
    ]);
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(4);
    expect(await webhookOf(running, id)).toMatchObject({ last_error: null });
    expect(running.log()).not.toContain(secret);
  });

  it("two webhooks → each receiver gets what it wants once, under one id, signed with its own secret", async () => {
    const running = await serve(await newStore());
    const [every, some, other] = [await startReceiver(), await startReceiver(), await startReceiver()];
    const first = await createWebhook(running, every.url);
    const second = await createWebhook(running, some.url, ["robot.registered"]);
    await createWebhook(running, other.url, ["robot.frozen"]);
    await setUp(running, "arm-1");
    for (const [receiver, secret] of [
      [every, first.secret],
      [some, second.secret],
    ] as const) {
      await expect.poll(() => receiver.received.length, SOON).toBe(1);
      expect(verified(receiver.received[0]!, secret)).toMatchObject({ type: "robot.registered" });
    }
    expect(every.received[0]?.id).toBe(some.received[0]?.id);
    expect(other.received).toEqual([]);
  });

  it("computer enrolls, registers, registers elsewhere, its key is copied → an event each", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    const { secret } = await createWebhook(running, receiver.url);
    const robot = new RobotComputer(() => running.url);
    const started = await robot.start();
    await running.send("POST", "/v1/robots/approve", { user_code: started.user_code });
    await robot.poll(started);
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    const setup = { name: "arm-1", robot_type_id: "so101", configuration_digest: `sha256:${"1".repeat(64)}` };
    for (const [index, region] of ["here", "there"].entries()) {
      await robot.send("POST", "/v1/robots/setup", { ...setup, region });
      await expect.poll(() => receiver.received.length, SOON).toBe(index + 2);
    }
    await robot.heartbeat();
    const copied = robot.copy();
    await robot.renew();
    await robot.heartbeat();
    await copied.renew();
    await copied.heartbeat();
    expect((await robot.heartbeat()).status).toBe(403);
    await expect.poll(() => receiver.received.length, SOON).toBe(4);
    const events = receiver.received.map((one) => verified(one, secret));
    const of = { name: "arm-1", installation_id: robot.installationId };
    expect(events).toMatchObject([
      { type: "robot.enrolled", data: { ...of, is_new: true } },
      { type: "robot.registered", data: { name: "arm-1", region: "here" } },
      { type: "robot.changed", data: { changed: ["region"] } },
      { type: "robot.frozen", data: { ...of, address: "127.0.0.1" } },
    ]);
    expect(events[1]).not.toHaveProperty("data.changed");
  });

  it("receiver fails → retried by schedule with the same id, then given up; the next success clears the error", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    const { running, advance } = await openScene(await newStore(), { webhooks: LOCAL });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    let before: string | null | undefined = null;
    for (const [index, pauseMs] of [...WEBHOOK_SETTINGS.retryMs, 24 * HOUR_MS].entries()) {
      await expect.poll(() => receiver.received.length, SOON).toBe(index + 1);
      await expect.poll(async () => (await webhookOf(running, id))?.last_error_at, SOON).not.toBe(before);
      before = (await webhookOf(running, id))?.last_error_at;
      advance(1.1 * pauseMs);
    }
    expect(new Set(receiver.received.map((one) => one.id)).size).toBe(1);
    expect(await webhookOf(running, id)).toMatchObject({ last_error: "answered 500" });
    receiver.answer = answerWith(204);
    await setUp(running, "arm-2");
    await expect.poll(async () => (await webhookOf(running, id))?.last_error, SOON).toBeNull();
    expect(receiver.received).toHaveLength(WEBHOOK_SETTINGS.retryMs.length + 2);
  });

  it.each([
    [503, 1],
    [429, 1],
    // Only for these two.
    [500, 2],
  ])("%i with Retry-After → %i attempts before that time", async (status, attempts) => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(status, { "retry-after": "600" });
    const { running, advance } = await openScene(await newStore(), {
      webhooks: { ...LOCAL, retryMs: [5000, HOUR_MS] },
    });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await expect.poll(async () => (await webhookOf(running, id))?.last_error, SOON).toBe(`answered ${status}`);
    advance(30_000);
    const other = await startReceiver();
    await createWebhook(running, other.url);
    await setUp(running, "arm-2", { site: "later" });
    await expect.poll(() => other.received.length, SOON).toBe(1);
    const first = receiver.received[0]?.id;
    const attemptsOfFirst = () => receiver.received.filter((one) => one.id === first).length;
    await expect.poll(attemptsOfFirst, SOON).toBe(attempts);
    if (attempts > 1) return;
    advance(600_000);
    await expect.poll(attemptsOfFirst, SOON).toBe(2);
  });

  it("secret rotated → both sign for a day, then only the new one", async () => {
    const receiver = await startReceiver();
    const { running, advance } = await openScene(await newStore(), { webhooks: LOCAL });
    const { id, secret: former } = await createWebhook(running, receiver.url);
    const rotated = await running.send("POST", `/v1/webhooks/${id}/rotate`);
    const { secret } = webhookSecretSchema.parse(await rotated.json());
    const signaturesOf = async (index: number) => {
      await setUp(running, `arm-${index}`);
      await expect.poll(() => receiver.received.length, SOON).toBe(index + 1);
      const { id: eventId, headers, text } = receiver.received[index]!;
      const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
      const [byNew, byFormer] = [secret, former].map((each) => new Webhook(each).sign(eventId, at, text));
      const signatures = String(headers["webhook-signature"]).split(" ");
      return [signatures.includes(byNew ?? ""), signatures.includes(byFormer ?? "")];
    };
    expect(await signaturesOf(0)).toEqual([true, true]);
    advance(SECRET_OVERLAP_HOURS * HOUR_MS);
    expect(await signaturesOf(1)).toEqual([true, false]);
  });

  it("test → sent at once and answered; one at a time", async () => {
    const [running, receiver] = [await serve(await newStore()), await startReceiver()];
    const { id, secret } = await createWebhook(running, receiver.url, ["fleet.ready"]);
    const test = async () => {
      const answer = await running.send("POST", `/v1/webhooks/${id}/test`);
      return [answer.status, await answer.json()];
    };
    expect(await test()).toEqual([200, { delivered: true, error: null }]);
    expect(verified(receiver.received[0]!, secret)).toMatchObject({ type: "webhook.test", data: { webhook_id: id } });
    const asked = Promise.withResolvers<Parameters<typeof receiver.answer>[0]>();
    receiver.answer = asked.resolve;
    const [first, response] = [test(), await asked.promise];
    expect((await test())[0]).toBe(409);
    answerWith(500)(response);
    expect(await first).toEqual([200, { delivered: false, error: "answered 500" }]);
    expect(await webhookOf(running, id)).toMatchObject({ last_error: "answered 500" });
  });

  it("redirect → failed, not followed; endless answer → delivered without reading it to its end", async () => {
    const [running, receiver, other] = [await serve(await newStore()), await startReceiver(), await startReceiver()];
    receiver.answer = answerWith(307, { location: other.url });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await expect.poll(async () => (await webhookOf(running, id))?.last_error, SOON).toBe("answered 307");
    expect(other.received).toEqual([]);
    receiver.answer = (response) => {
      response.writeHead(200);
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(1024)));
      };
      response.on("drain", write);
      write();
    };
    await setUp(running, "arm-2");
    await expect.poll(async () => (await webhookOf(running, id))?.last_error, SOON).toBeNull();
  });

  it("silent receivers → one attempt each, and other webhooks are not delayed", async () => {
    const [running, silent, receiver] = [await serve(await newStore()), await startReceiver(), await startReceiver()];
    silent.answer = () => {};
    for (let count = 0; count < 3; count += 1) await createWebhook(running, silent.url);
    await createWebhook(running, receiver.url);
    for (let count = 0; count < 10; count += 1) await setUp(running, `arm-${count}`);
    await expect.poll(() => receiver.received.length, SOON).toBe(10);
    expect(silent.received.length).toBeLessThanOrEqual(3);
  });

  it("more events wait than the maximum → the oldest are dropped, and the log says so; other webhooks get them", async () => {
    const [failing, receiver] = [await startReceiver(), await startReceiver()];
    failing.answer = answerWith(500);
    const { running, advance } = await openScene(await newStore(), { webhooks: { ...LOCAL, pendingMaximum: 2 } });
    await createWebhook(running, failing.url);
    await createWebhook(running, receiver.url);
    for (const name of ["arm-1", "arm-2", "arm-3"]) await setUp(running, name);
    await expect.poll(() => receiver.received.length, SOON).toBe(3);
    await expect.poll(() => new Set(failing.received.map(({ id }) => id)).size, SOON).toBe(3);
    advance(30_000);
    await expect.poll(() => running.log(), SOON).toContain('"webhook_events_dropped"');
    failing.received.splice(0);
    failing.answer = answerWith(204);
    advance(10 * 60_000);
    await expect.poll(() => failing.received.length, SOON).toBe(2);
    const last = receiver.received.map(({ id }) => id).slice(1);
    expect(failing.received.map(({ id }) => id).toSorted()).toEqual(last.toSorted());
  });

  it("webhook deleted while events wait for it → they are not sent", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    const { running, advance } = await openScene(await newStore(), { webhooks: LOCAL });
    const { id } = await createWebhook(running, receiver.url);
    await setUp(running, "arm-1");
    await expect.poll(async () => (await webhookOf(running, id))?.last_error, SOON).toBe("answered 500");
    expect((await running.send("DELETE", `/v1/webhooks/${id}`)).status).toBe(200);
    advance(HOUR_MS);
    const other = await startReceiver();
    await createWebhook(running, other.url);
    await setUp(running, "arm-2");
    await expect.poll(() => other.received.length, SOON).toBe(1);
    expect(receiver.received).toHaveLength(1);
  });
});
