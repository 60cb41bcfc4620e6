/** @module-tag needs/browser */
import { expect, it } from "vitest";

import { describeConsole, openSignedIn, startConsole, untilLive } from "../../../support/browser.ts";
import { createKey } from "../../../support/service/service.ts";
import {
  answerWith,
  createWebhook,
  LOCAL,
  setUp,
  startReceiver,
  verified,
  webhookOf,
} from "../../service/webhooks/receiver.ts";
import { violations, violationsInDialog } from "./axe.ts";

const start = () => startConsole({ configuration: { webhooks: LOCAL } });

describeConsole("webhooks", start, (running) => {
  const open = (path: string, key?: string) => openSignedIn(running(), path, key);

  const hostOf = (url: string) => new URL(url).host;

  it("new webhook with the keyboard → its secret is shown once", async () => {
    const receiver = await startReceiver();
    const page = await open("/webhooks");
    await page.getByRole("button", { name: "New webhook" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New webhook" }).waitFor();
    await page.keyboard.type(receiver.url);
    await page.getByLabel("The ones I choose").focus();
    await page.keyboard.press("Space");
    await page.getByLabel("robot.registered").focus();
    await page.keyboard.press("Space");
    expect(await violationsInDialog(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: `The webhook to ${hostOf(receiver.url)}` }).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    const secret = await page.locator(".key-once code").innerText();
    await page.keyboard.press("Escape");
    await page.getByText("Store the secret first: it cannot be shown again.").waitFor();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByText(hostOf(receiver.url)).waitFor();
    expect(await page.content()).not.toContain(secret);
    await setUp(running(), "arm-1");
    await expect.poll(() => receiver.received.length).toBe(1);
    expect(verified(receiver.received[0]!, secret)).toMatchObject({ type: "robot.registered" });
  });

  it("URL with a private address → error of its field", async () => {
    const page = await open("/webhooks");
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("URL").fill("https://10.0.0.1/");
    await page.keyboard.press("Enter");
    await page.getByText(/address is not public/i).waitFor();
    expect(await page.getByLabel("URL").getAttribute("aria-invalid")).toBe("true");
  });

  it("value changed while it is being refused → no error of its field", async () => {
    const page = await open("/webhooks");
    const requested = Promise.withResolvers<void>();
    const changed = Promise.withResolvers<void>();
    await page.route("**/v1/webhooks", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      requested.resolve();
      await changed.promise;
      return route.continue();
    });
    await page.getByRole("button", { name: "New webhook" }).click();
    await page.getByLabel("URL").fill("https://10.0.0.1/");
    await page.keyboard.press("Enter");
    await requested.promise;
    await page.getByLabel("URL").fill("https://example.com/");
    changed.resolve();
    const cancel = page.getByRole("button", { name: "Cancel" });
    await expect.poll(() => cancel.isEnabled()).toBe(true);
    expect(await page.getByLabel("URL").getAttribute("aria-invalid")).toBe(null);
    await page.getByLabel("URL").fill("https://10.0.0.1/");
    await page.getByText(/address is not public/i).waitFor();
  });

  it("test → says what came of it; the state follows", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    await createWebhook(running(), receiver.url, ["robot.registered"]);
    const page = await open("/webhooks");
    const row = page.getByRole("row", { name: hostOf(receiver.url) });
    const press = async () => {
      await row.getByRole("button", { name: /^Test/ }).click();
      await page.getByRole("button", { name: "Send" }).click();
    };
    await press();
    await page.getByText(`The test event was not delivered to ${hostOf(receiver.url)}: answered 500.`).waitFor();
    await row.getByText("Failing").waitFor();
    expect(await violations(page)).toEqual([]);
    receiver.answer = answerWith(204);
    await press();
    await page.getByText(`The test event is delivered to ${hostOf(receiver.url)}.`).waitFor();
    await row.getByText("Works").waitFor();
  });

  it("test refused → error in the dialog until it succeeds", async () => {
    const { url } = await startReceiver();
    await createWebhook(running(), url);
    const page = await open("/webhooks");
    await page.route("**/test", (route) => route.fulfill({ status: 429, json: { detail: "Too many requests." } }));
    const test = page.getByRole("button", { name: `Test ${hostOf(url)}` });
    await test.click();
    const send = page.getByRole("button", { name: "Send" });
    await send.click();
    const alert = page.getByRole("alert").filter({ hasText: "Too many requests." });
    await alert.waitFor();
    await page.unroute("**/test");
    await send.click();
    await alert.waitFor({ state: "detached" });
  });

  it("webhook created → on the audit page without a reload", async () => {
    const page = await open("/audit");
    await untilLive(page);
    const { url } = await startReceiver();
    await createWebhook(running(), url);
    // Less than a minute, after which pages fetch everything again.
    await page.getByText(`created the webhook to ${hostOf(url)}`).waitFor({ timeout: 10_000 });
  });

  it("new secret, remove → each takes effect; the secret is shown once", async () => {
    const receiver = await startReceiver();
    const { id, secret: former } = await createWebhook(running(), receiver.url);
    const page = await open("/webhooks");
    await page.getByRole("button", { name: `New secret ${hostOf(receiver.url)}` }).click();
    await page.getByText("For a day both secrets sign").waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByRole("button", { name: "Make a new secret" }).click();
    const secret = await page.locator(".key-once code").innerText();
    expect(secret).not.toBe(former);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await setUp(running(), "arm-4");
    await expect.poll(() => receiver.received.length).toBe(1);
    expect(verified(receiver.received[0]!, secret)).toMatchObject({ type: "robot.registered" });
    await page.getByRole("button", { name: `Remove ${hostOf(receiver.url)}` }).click();
    await page.getByRole("button", { name: "Remove webhook" }).click();
    await expect.poll(() => page.getByText(hostOf(receiver.url)).count()).toBe(0);
    expect(await webhookOf(running(), id)).toBeUndefined();
  });

  it("key that may only read → no buttons", async () => {
    const { url } = await createWebhook(running(), (await startReceiver()).url);
    const { api_key: key } = await createKey(running(), "reader", ["webhooks:read"]);
    const page = await open("/webhooks", key);
    await page.getByText(hostOf(url)).waitFor();
    expect(await page.getByRole("button", { name: /^Test|New|Remove/ }).count()).toBe(0);
  });
});
