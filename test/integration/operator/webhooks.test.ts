import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";

import { steady } from "../../support/operator/enrolling.ts";
import {
  endedWith,
  HASTY_CLOCK,
  openOperatorSite,
  openSiteAtOneTime,
  type OperatorSite,
} from "../../support/operator/operator.ts";
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

it("create, rotate: print only the secret, and only once; test: the delivery is signed with it", async () => {
  const created = await site.run("webhooks", "create", receiver.url, "--event", "robot.registered");
  expect([created.exitCode, neat(created.err)]).toEqual([
    0,
    "The webhook wh_ID sends to HOST. Its secret is shown only once:\n",
  ]);
  const tested = await site.run("webhooks", "test", host);
  expect([tested.exitCode, neat(tested.out)]).toEqual([0, "The test event is delivered to HOST.\n"]);
  expect(verified(receiver.received[0]!, created.out.trim())).toMatchObject({ type: "webhook.test" });
  const rotated = await site.run("webhooks", "rotate", host);
  expect([rotated.exitCode, neat(rotated.err)]).toEqual([
    0,
    "The webhook to HOST has a new secret. For a day both secrets sign: copy the new one to the receiver until then.\nIt is shown only once:\n",
  ]);
  await site.run("webhooks", "test", host);
  expect(verified(receiver.received[1]!, rotated.out.trim())).toMatchObject({ type: "webhook.test" });
  const { out, err } = await site.run("webhooks", "list", "--json");
  for (const { out: secret } of [created, rotated]) expect(out + err).not.toContain(secret.trim());
  expect(await site.run("webhooks", "create", receiver.url, "--event", "robot.ofline")).toMatchObject(
    endedWith(2, "did you mean robot.offline?"),
  );
});

it("list: state, last error and events; a narrow terminal keeps receiver, state and error", async () => {
  await using freshSite = await openSiteAtOneTime({ configuration: { webhooks: LOCAL } });
  await freshSite.run("webhooks", "create", receiver.url, "--event", "robot.frozen", "--event", "robot.offline");
  receiver.answer = answerWith(500);
  expect(await freshSite.run("webhooks", "test", host)).toMatchObject(
    endedWith(6, `the test event was not delivered to ${host}: answered 500 [not-delivered]`),
  );
  const environment = { ROBOT_POLICY_URL: freshSite.urls.whole, ROBOT_POLICY_API_KEY: freshSite.service.key };
  const { out } = await freshSite.runWith({ environment, columns: 140 }, "webhooks", "list");
  const row = out.split("\n").find((line) => line.includes(host)) ?? "";
  expect(neat(row).split(/ {2,}/)).toEqual([
    "HOST",
    "failing",
    "answered 500",
    "now",
    "robot.frozen, robot.offline",
    "now",
    "wh_ID",
  ]);
  const narrow = await freshSite.runWith({ environment, columns: 70 }, "webhooks", "list");
  expect(narrow.out).toMatch(new RegExp(`${host}  failing +answered 500`));
  expect(narrow.err).toContain("hidden: events, created, id;");
  expect(await freshSite.run("webhooks", "test", "nobody.example")).toMatchObject(
    endedWith(6, "no webhook has the id, URL"),
  );
});

it("remove: asks once; two webhooks with one host → their URL or id is required", async () => {
  await site.run("webhooks", "create", receiver.url);
  await site.run("webhooks", "create", `${receiver.url}2`);
  expect(await site.run("webhooks", "remove", host)).toMatchObject(
    endedWith(2, `2 webhooks have the id, URL or host ${host}`),
  );
  const declined = await site.runWith({ answers: ["n"] }, "webhooks", "rm", receiver.url);
  expect([declined.exitCode, neat(declined.err)]).toEqual([
    1,
    expect.stringContaining(
      "This deletes the webhook to HOST. What waits to be delivered is not sent, and its secret is deleted.\nDelete it?",
    ),
  ]);
  const removed = await site.runWith({ answers: ["y"] }, "webhooks", "rm", receiver.url);
  expect([removed.exitCode, neat(removed.out)]).toEqual([0, "The webhook to HOST is deleted (wh_ID).\n"]);
  expect((await site.json("webhooks", "list")).items).toContainEqual(
    expect.objectContaining({ url: `${receiver.url}2` }),
  );
});
