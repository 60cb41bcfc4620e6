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
    await page.getByRole("link", { name: hostOf(receiver.url) }).waitFor();
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

  it("webhook removed elsewhere → its last state, without a promise to ask again", async () => {
    const { id, url } = await createWebhook(running(), "https://gone.example.com/");
    const page = await open(`/webhooks/${id}`);
    await page.getByRole("heading", { level: 1, name: hostOf(url) }).waitFor();
    await untilLive(page);
    await running().send("DELETE", `/v1/webhooks/${id}`);
    const notice = page.locator(".notice", { hasText: "This is the last known state of this webhook." });
    await notice.waitFor();
    expect(await notice.innerText()).not.toContain("asks again");
  });

  it("delivery failed → shows why and when it is tried again; Send again → delivered", async () => {
    const receiver = await startReceiver();
    receiver.answer = answerWith(500);
    const { id } = await createWebhook(running(), receiver.url, ["robot.registered"]);
    await setUp(running(), "arm-2");
    await expect.poll(async () => (await webhookOf(running(), id))?.failing_since).not.toBeNull();
    const page = await open(`/webhooks/${id}`);
    const row = page.getByRole("row", { name: /robot\.registered/ });
    await row.getByText("answered 500").waitFor();
    expect(await row.textContent()).toMatch(/arm-2Pending\d+answered 500(in \d|now|due)/);
    await page.getByText("failing: deliveries are tried again").waitFor();
    expect(await page.getByRole("columnheader", { name: "When" }).getAttribute("aria-sort")).toBe("descending");
    const cell = row.getByRole("cell").filter({ has: page.getByRole("button") });
    expect(await cell.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    expect(await violations(page)).toEqual([]);
    receiver.answer = answerWith(204);
    await page.getByRole("button", { name: "Send again robot.registered arm-2" }).click();
    await row.getByText("Delivered").waitFor();
    await row.getByText("answered 204").waitFor();
    await page.getByText("works", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page
      .getByRole("row", { name: /webhook\.test/ })
      .getByText("Delivered")
      .waitFor();
  });

  it("Send again fails → error on the page until it succeeds", async () => {
    const { id } = await createWebhook(running(), (await startReceiver()).url, ["robot.registered"]);
    await setUp(running(), "arm-3");
    const page = await open(`/webhooks/${id}`);
    await page.route("**/resend", (route) => route.fulfill({ status: 429, json: { detail: "Too many requests." } }));
    const sendAgain = page.getByRole("button", { name: "Send again robot.registered arm-3" });
    await sendAgain.click();
    const alert = page.getByRole("alert").filter({ hasText: "Too many requests." });
    await alert.waitFor();
    await page.unroute("**/resend");
    await sendAgain.click();
    await page.getByText("robot.registered is sent again.").waitFor();
    await alert.waitFor({ state: "detached" });
  });

  it("webhook created → on the audit page without a reload", async () => {
    const page = await open("/audit");
    await untilLive(page);
    const { url } = await startReceiver();
    await createWebhook(running(), url);
    // Less than a minute, after which pages fetch everything again.
    await page.getByText(`host=${hostOf(url)}`).waitFor({ timeout: 10_000 });
  });

  it("disable, enable, remove → each takes effect; disabling says what ends", async () => {
    const receiver = await startReceiver();
    const { id } = await createWebhook(running(), receiver.url);
    const page = await open(`/webhooks/${id}`);
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByText("What waits to be delivered is given up").waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByRole("button", { name: "Disable webhook" }).click();
    await page.getByRole("button", { name: "Enable" }).waitFor();
    expect(await webhookOf(running(), id)).toMatchObject({ disabled_reason: "requested" });
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("button", { name: "Disable" }).waitFor();
    expect(await webhookOf(running(), id)).toMatchObject({ disabled_at: null });
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove webhook" }).click();
    await page.getByRole("heading", { level: 1, name: /^Webhooks/ }).waitFor();
    expect(await webhookOf(running(), id)).toBeUndefined();
    await expect.poll(() => page.getByRole("link", { name: hostOf(receiver.url) }).count()).toBe(0);
  });

  it("key that may only read → no buttons", async () => {
    const { id } = await createWebhook(running(), (await startReceiver()).url);
    const { api_key: key } = await createKey(running(), "reader", ["webhooks:read"]);
    const page = await open(`/webhooks/${id}`, key);
    await page.getByText("Nothing was sent yet.").waitFor();
    expect(await page.getByRole("button", { name: /test|Disable|Remove|again/ }).count()).toBe(0);
  });
});
