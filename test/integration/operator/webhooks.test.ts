import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";

import { steady } from "../../support/operator/enrolling.ts";
import {
  endedWith,
  HASTY_CLOCK,
  openOperatorSite,
  openSiteAtOneTime,
  type OperatorSite,
} from "../../support/operator/operator.ts";
import { eventually } from "../../support/eventually.ts";
import { answerWith, LOCAL, type Receiver, startReceiver, verified } from "../service/webhooks/receiver.ts";

const openSite = () => openOperatorSite({ configuration: { webhooks: LOCAL }, commandClock: HASTY_CLOCK });

let site: OperatorSite;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site[Symbol.asyncDispose]());

let receiver: Receiver;
/** The receiver's host, by which operators name the webhook. */
let host: string;
beforeEach(async () => {
  receiver = await startReceiver();
  ({ host } = new URL(receiver.url));
});

const neat = (text: string) =>
  steady(text)
    .replaceAll(/\b(wh|whd)_[0-9a-z]{26}/g, "$1_ID")
    .replaceAll(host, "HOST");

it("create: prints only the secret, and only once; test --wait: the delivery is signed with it", async () => {
  const created = await site.run("webhooks", "create", receiver.url, "--event", "robot.registered");
  expect([created.exitCode, neat(created.err)]).toEqual([
    0,
    "The webhook wh_ID sends to HOST. Its secret is shown only once:\n",
  ]);
  const secret = created.out.trim();
  const tested = await site.run("webhooks", "test", host, "--wait");
  expect([tested.exitCode, neat(tested.out)]).toEqual([
    0,
    "webhook.test is delivered to HOST (whd_ID): answered 204.\n",
  ]);
  expect(verified(receiver.received[0]!, secret)).toMatchObject({ type: "webhook.test" });
  for (const command of ["list", "show"]) {
    const args = command === "show" ? ["webhooks", command, host] : ["webhooks", command];
    const { out, err } = await site.run(...args, "--json");
    expect(out + err).not.toContain(secret);
  }
});

it("list and show: state, events and dropped deliveries; a narrow terminal keeps receiver and id", async () => {
  await using freshSite = await openSiteAtOneTime({ configuration: { webhooks: LOCAL } });
  await freshSite.run("webhooks", "create", receiver.url, "--event", "robot.frozen", "--event", "robot.offline");
  const environment = { ROBOT_POLICY_URL: freshSite.urls.whole, ROBOT_POLICY_API_KEY: freshSite.service.key };
  const { out } = await freshSite.runWith({ environment, columns: 100 }, "webhooks", "list");
  const row = out.split("\n").find((line) => line.includes(host)) ?? "";
  expect(neat(row).split(/ {2,}/)).toEqual(["HOST", "works", "robot.frozen robot.offline", "0", "now", "wh_ID"]);
  const narrow = await freshSite.runWith({ environment, columns: 70 }, "webhooks", "list");
  expect(narrow.out).toMatch(new RegExp(`${host}  works +0 +wh_`));
  expect(narrow.err).toContain("hidden:");
  const shown = await freshSite.run("webhooks", "show", host);
  expect(neat(shown.out)).toMatchInlineSnapshot(`
    "webhook  wh_ID
    url      http://HOST/hook
    events   robot.frozen robot.offline
    state    works
    created  TIME
    "
  `);
  expect(await freshSite.run("webhooks", "show", "nobody.example")).toMatchObject(
    endedWith(6, "no webhook has the id, URL"),
  );
});

it("update: changes URL and events; --disable asks once; --enable", async () => {
  await site.run("webhooks", "create", receiver.url);
  const update = (...args: string[]) => site.run("webhooks", "update", host, ...args);
  expect(await update()).toMatchObject(endedWith(2, "there is nothing to change"));
  expect(await update("--event", "robot.ofline")).toMatchObject(endedWith(2, "did you mean robot.offline?"));
  expect(await update("--event", "robot.offline", "--all-events")).toMatchObject(endedWith(2, "exclude each other"));
  expect(await update("--receiver", "https://10.0.0.1/")).toMatchObject(
    endedWith(6, 'error: --receiver "https://10.0.0.1/": the address is not public'),
  );
  expect((await update("--event", "robot.offline", "--receiver", `${receiver.url}2`)).exitCode).toBe(0);
  const disable = ["webhooks", "update", host, "--disable"];
  const declined = await site.runWith({ answers: ["n"] }, ...disable);
  expect([declined.exitCode, neat(declined.err)]).toEqual([
    1,
    expect.stringContaining("This disables the webhook to HOST, and gives up what waits to be delivered.\nDisable it?"),
  ]);
  const disabled = await site.runWith({ answers: ["y"] }, ...disable);
  expect([disabled.exitCode, neat(disabled.out)]).toEqual([0, "The webhook to HOST is changed (wh_ID): disabled.\n"]);
  expect(await site.json("webhooks", "show", host)).toMatchObject({
    url: `${receiver.url}2`,
    events: ["robot.offline"],
    disabled_reason: "requested",
  });
  expect(await site.run("webhooks", "test", host)).toMatchObject(
    endedWith(7, /→ enable it first: robot-policy webhooks update wh_\w+ --enable$/m),
  );
  expect((await update("--enable", "--all-events")).exitCode).toBe(0);
  expect(await site.json("webhooks", "show", host)).toMatchObject({ events: null, disabled_at: null });
});

it("deliveries: failures and their causes; resend --wait: reports the failure, then the delivery", async () => {
  receiver.answer = answerWith(500);
  await site.run("webhooks", "create", receiver.url, "--event", "robot.registered");
  await site.register("arm-1");
  const first = await eventually(async () => {
    const { items } = await site.json("webhooks", "deliveries", host);
    return items[0]?.attempts === 1 ? items[0] : undefined;
  }, "a first attempt");
  const { out } = await site.run("webhooks", "deliveries", host, "--status", "pending");
  expect(neat(out)).toMatch(/robot\.registered +arm-1 +pending +1 +answered 500 +TIME +TIME +whd_ID/);
  const clock = { ...HASTY_CLOCK, wallMs: () => HASTY_CLOCK.wallMs() + 600_000 };
  const later = await site.runWith({ clock, columns: 200 }, "webhooks", "deliveries", host, "--status", "pending");
  expect(neat(later.out)).toMatch(/answered 500 +due +10 min ago +whd_ID/);
  expect((await site.run("webhooks", "deliveries", host, "--status", "failed")).err).toContain("no such deliveries");
  const failed = await site.run("webhooks", "resend", host, first.id, "--wait");
  expect(failed).toMatchObject(endedWith(6, "robot.registered was not delivered: answered 500 [not-delivered]"));
  receiver.answer = answerWith(204);
  const sent = await site.run("webhooks", "resend", host, first.id, "--wait");
  expect([sent.exitCode, neat(sent.out)]).toEqual([
    0,
    "robot.registered is delivered to HOST (whd_ID): answered 204.\n",
  ]);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
});

it("remove: asks once; two webhooks with one host → their URL or id is required", async () => {
  await site.run("webhooks", "create", receiver.url);
  await site.run("webhooks", "create", `${receiver.url}2`);
  expect(await site.run("webhooks", "remove", host)).toMatchObject(endedWith(2, `2 webhooks send to ${host}`));
  const declined = await site.runWith({ answers: ["n"] }, "webhooks", "rm", receiver.url);
  expect([declined.exitCode, neat(declined.err)]).toEqual([
    1,
    expect.stringContaining("This deletes the webhook to HOST, and what waits to be delivered to it.\nDelete it?"),
  ]);
  const removed = await site.runWith({ answers: ["y"] }, "webhooks", "rm", receiver.url);
  expect([removed.exitCode, neat(removed.out)]).toEqual([0, "The webhook to HOST is deleted (wh_ID).\n"]);
  expect(await site.json("webhooks", "show", host)).toMatchObject({ url: `${receiver.url}2` });
});
