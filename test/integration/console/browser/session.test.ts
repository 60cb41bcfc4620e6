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
import { violations } from "./axe.ts";

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

  it("key revoked → asks for a key again, then shows the page of the clicked link", async () => {
    const { id, api_key: apiKey } = await createKey(running(), "soon revoked");
    const { page } = await borrowWindow();
    await signIn(page, { url: running().url, key: apiKey }, "/fleets?status=blocked");
    await heading(page, "Fleets");
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await clickUnseen(page, 'a[href="/robots"]');
    await page.getByText("Your session has ended.").waitFor();
    await page.getByLabel("API key").fill(running().key);
    await page.keyboard.press("Enter");
    await heading(page, "Robots");
    expect(page.url()).toBe(`${running().url}/robots`);
  });

  it("session ends with a half-filled form → the form is covered, and back after the sign-in", async () => {
    const { id, api_key: apiKey } = await createKey(running(), "shift one");
    const { page, complaints } = await borrowWindow();
    await signIn(page, { url: running().url, key: apiKey }, "/fleets/new");
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Night shift");
    await page.evaluate("scrollTo(0, 20)");
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await clickUnseen(page, 'button:has-text("Create fleet")');
    await page.getByText("Your session has ended.").waitFor();
    const corner = "document.elementFromPoint(innerWidth - 20, innerHeight - 1)";
    expect(await page.evaluate(`${corner}.closest("dialog")?.ariaLabel`)).toBe("Sign in again");
    expect(await page.title()).toBe("Sign in · Robot policy");
    expect(await violations(page)).toEqual([]);
    await page.evaluate(
      'document.querySelector("dialog").addEventListener("cancel", () => console.error("cancelled"))',
    );
    for (let time = 0; time < 3; time += 1) await page.keyboard.press("Escape");
    // As browsers without `closedby` do on Escape, and a person who types on meanwhile.
    await page.evaluate('document.querySelector("dialog").close(); document.querySelector("dialog input").focus()');
    await page.getByLabel("API key").fill(running().key);
    await page.keyboard.press("Enter");
    await page.getByText("Your session has ended.").waitFor({ state: "detached" });
    expect(await name.inputValue()).toBe("Night shift");
    expect(await page.evaluate("[document.activeElement.labels?.[0].textContent, scrollY]")).toEqual(["Name", 20]);
    expect(await page.title()).toBe("New fleet · Robot policy");
    await liveness(page, "Live");
    expect(complaints).toEqual([]);
  });

  it("session ends with a half-filled form, sign-in with other scopes → the form is empty", async () => {
    const { id, api_key: apiKey } = await createKey(running(), "shift one");
    const reader = await createKey(running(), "reader", ["robots:read", "fleets:read"]);
    const { page } = await borrowWindow();
    await signIn(page, { url: running().url, key: apiKey }, "/fleets/new");
    await page.getByLabel("Name", { exact: true }).fill("Night shift");
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await clickUnseen(page, 'button:has-text("Create fleet")');
    await page.getByText("Your session has ended.").waitFor();
    await page.getByLabel("API key").fill(reader.api_key);
    await page.keyboard.press("Enter");
    await heading(page, "New fleet");
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("");
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

  it("theme → follows the computer until the person chooses one, which is kept", async () => {
    const { page } = await borrowWindow();
    await signIn(page, running());
    expect(await theme(page)).toBe("light");
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(() => theme(page)).toBe("dark");
    await page.getByRole("button", { name: "Use the light theme" }).first().click();
    expect(await theme(page)).toBe("light");
    await page.reload();
    await heading(page, "Overview");
    expect(await theme(page)).toBe("light");
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

  it("computer offline → says so, keeps its data, recovers by itself", async () => {
    const { page } = await borrowWindow();
    await signIn(page, running(), "/robots");
    const shown = page.getByRole("heading", { name: "No robot is registered yet" });
    await shown.waitFor();
    await liveness(page, "Live");
    await page.context().setOffline(true);
    await liveness(page, "Offline");
    expect(await shown.count()).toBe(1);
    await page.context().setOffline(false);
    await liveness(page, "Live");
  });
});

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

async function liveness(page: Page, word: string): Promise<void> {
  await page.locator(".live-status:visible").filter({ hasText: word }).waitFor();
}

/** Clicks an element that may already be hidden, because the page knows that the session has ended. */
async function clickUnseen(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().dispatchEvent("click");
}

function focused(page: Page): Promise<string> {
  return page.evaluate("document.activeElement.innerText");
}

function theme(page: Page): Promise<string> {
  return page.evaluate("document.documentElement.dataset.theme");
}
