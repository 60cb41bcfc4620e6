/** @module-tag needs/browser */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";

import {
  borrowWindow,
  describeConsole,
  openWindow,
  signIn,
  signInByForm,
  startConsole,
} from "../../../support/browser.ts";
import { createKey } from "../../../support/service/service.ts";

describeConsole("sign-in and shell", startConsole, (running) => {
  it("change between the first answers and the next question → shown", async () => {
    const { page } = await borrowWindow();
    const answering = Promise.withResolvers<void>();
    let questions = 0;
    await page.route("**/console/versions", async (route) => {
      questions += 1;
      if (questions > 1) await answering.promise;
      await route.continue();
    });
    await signInByForm(page, running(), "/keys");
    await page.getByRole("row", { name: /^bootstrap/ }).waitFor();
    await createKey(running(), "made in between");
    answering.resolve();
    await page.getByRole("row", { name: /made in between/ }).waitFor();
  });

  it("wrong key → error beside the field, can be corrected", async () => {
    const { page } = await borrowWindow();
    await page.goto(running().url);
    const field = page.getByLabel("API key");
    await field.fill("sk_rps_nonsense");
    await page.keyboard.press("Enter");
    await page.locator('input[aria-invalid="true"]').waitFor();
    const describedBy = await field.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${describedBy}"]`).innerText()).toBe("Invalid API key.");
    await field.fill(running().key);
    await page.keyboard.press("Enter");
    await heading(page, "Overview");
  });

  it("sign-in at a URL with a query → stays there", async () => {
    const { page } = await borrowWindow();
    await signInByForm(page, running(), "/robots?site=hall-2&sort=-changed");
    await heading(page, "Robots");
    expect(page.url()).toBe(`${running().url}/robots?site=hall-2&sort=-changed`);
  });

  it("phone → the links to the pages scroll sideways, the page does not", async () => {
    const { page } = await borrowWindow();
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn(page, running());
    await page.getByRole("navigation").getByRole("link", { name: "Audit" }).click();
    await heading(page, "Audit");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
  });

  it("key revoked → asks for a key again, then shows the same page", async () => {
    const { id, api_key: apiKey } = await createKey(running(), "soon revoked");
    const { page } = await borrowWindow();
    await signIn(page, { url: running().url, key: apiKey }, "/fleets?status=blocked");
    await heading(page, "Fleets");
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await page.getByText("Your session has ended.").waitFor();
    await page.getByLabel("API key").fill(running().key);
    await page.keyboard.press("Enter");
    await heading(page, "Fleets");
    expect(page.url()).toBe(`${running().url}/fleets?status=blocked`);
  });

  it("session ends with a half-filled form → the form stays, and is sent after a sign-in in another window", async () => {
    const { id, api_key: apiKey } = await createKey(running(), "shift one");
    const { page } = await borrowWindow();
    await signIn(page, { url: running().url, key: apiKey }, "/webhooks");
    await page.getByRole("button", { name: "New webhook" }).click();
    const url = page.getByLabel("URL");
    await url.fill("https://hooks.example.com/night");
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.getByText("Sign in again in another window, then try again here.").waitFor();
    expect(await url.inputValue()).toBe("https://hooks.example.com/night");
    const other = await page.context().newPage();
    await signInByForm(other, running(), "/webhooks");
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.locator(".key-once code").waitFor();
  });

  it("sign-out and sign-in in one window → apply to all windows", async () => {
    const { api_key: apiKey } = await createKey(running(), "reader", ["robots:read"]);
    const { page } = await borrowWindow();
    await signIn(page, running(), "/keys");
    await page.getByRole("button", { name: "New key" }).waitFor();
    const other = await page.context().newPage();
    await other.goto(`${running().url}/robots`);
    await other.getByRole("button", { name: "Sign out" }).first().click();
    await page.getByText("Your session has ended.").waitFor();
    await other.getByLabel("API key").fill(apiKey);
    await other.keyboard.press("Enter");
    await page.getByText("Your key may not see the keys.").waitFor();
    expect(await page.getByRole("button", { name: "New key" }).count()).toBe(0);
  });

  it("restricted key → names the missing scope", async () => {
    const { api_key: apiKey } = await createKey(running(), "a robot", ["robots:setup"]);
    const { page } = await borrowWindow();
    await signIn(page, { url: running().url, key: apiKey }, "/robots");
    const alert = page.getByRole("alert").first();
    await alert.waitFor();
    expect(await alert.innerText()).toContain("Your key may not see the robots.");
    expect(await alert.innerText()).toContain("robots:read");
  });

  it("link followed → focus on the heading of the page, its name in the title", async () => {
    const { page } = await borrowWindow();
    await signIn(page, running());
    await heading(page, "Overview");
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("Skip to the page");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    await page.getByRole("link", { name: "Robots" }).first().focus();
    await page.keyboard.press("Enter");
    await heading(page, "Robots");
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H1");
    expect(await focused(page)).toMatch(/^Robots/);
    expect(await page.title()).toBe("Robots · Robot policy");
    await page.goBack();
    await heading(page, "Overview");
    expect(await page.title()).toBe("Overview · Robot policy");
  });

  it("service fails → shows why, sends the request again on a click", async () => {
    const { page } = await borrowWindow();
    await signIn(page, running(), "/robots");
    await liveness(page, "Live");
    await page.route("**/v1/fleets", (route) =>
      route.fulfill({ status: 503, json: { detail: "The database cannot be reached", code: "Unavailable" } }),
    );
    await page.getByRole("link", { name: "Fleets" }).first().click();
    const alert = page.getByRole("alert");
    await alert.getByText("The database cannot be reached.").waitFor();
    expect(await alert.innerText()).toContain("Cannot show the fleets.");
    await page.unroute("**/v1/fleets");
    await alert.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "There are no fleets yet" }).waitFor();
  });

  it("page hidden → asks nothing; visible again → shows what changed meanwhile", async () => {
    const { page } = await openWindow();
    await page.addInitScript(`
      window.visibility = "visible";
      Object.defineProperty(document, "visibilityState", { get: () => window.visibility });
      window.setVisibility = (state) => { window.visibility = state; document.dispatchEvent(new Event("visibilitychange")); };
    `);
    await page.clock.install();
    await signIn(page, running(), "/keys");
    await page.getByRole("row", { name: /^bootstrap/ }).waitFor();
    await page.evaluate("setVisibility('hidden')");
    await createKey(running(), "made unseen");
    const questions: string[] = [];
    page.on("request", (request) => questions.push(request.url()));
    await page.clock.runFor(30_000);
    expect(questions).toEqual([]);
    await page.evaluate("setVisibility('visible')");
    await page.clock.runFor(1000);
    await page.getByRole("row", { name: /made unseen/ }).waitFor();
  });

  it("computer's clock is wrong → times by the service's clock", async () => {
    const { page } = await openWindow({ viewport: { width: 1500, height: 900 } });
    await page.addInitScript("const now = Date.now; Date.now = () => now() - 7_200_000;");
    await createKey(running(), "made just now");
    await signIn(page, running(), "/keys");
    await page
      .getByRole("row", { name: /made just now/ })
      .getByText(/^(now|\d+ s ago)$/)
      .waitFor();
  });
});

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

async function liveness(page: Page, word: string): Promise<void> {
  await page.locator(".live-status:visible").filter({ hasText: word }).waitFor();
}

function focused(page: Page): Promise<string> {
  return page.evaluate("document.activeElement.innerText");
}
