/** @module-tag needs/browser */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";

import type { ApiKeyView } from "../../../../src/api/keys.ts";
import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { createKey } from "../../../support/service/service.ts";
import { violationsInDialog } from "./axe.ts";

describeConsole("keys", startConsole, (running) => {
  async function open(key = running().key): Promise<Page> {
    const page = await openSignedIn(running(), "/keys", key);
    await page.getByRole("heading", { level: 1, name: /^Keys/ }).waitFor();
    return page;
  }

  async function keyOf(label: string): Promise<ApiKeyView | undefined> {
    const answer = await running().send("GET", "/v1/me/api-keys");
    const { items } = (await answer.json()) as { readonly items: readonly ApiKeyView[] };
    return items.find((key) => key.label === label);
  }

  const statusWith = async (key: string, path = "/v1/robots") =>
    (await fetch(running().url + path, { headers: { authorization: `Bearer ${key}` } })).status;

  it("new key for robots with the keyboard → shown once", async () => {
    const page = await open();
    await page.getByRole("button", { name: "New key" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "New key" }).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.keyboard.type("cell 7");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "The key cell 7" }).waitFor();
    const secret = await page.locator(".key-once code").innerText();
    expect(await violationsInDialog(page)).toEqual([]);
    expect(secret).toMatch(/^sk_rps_\S{20,}$/);
    expect(await statusWith(secret)).toBe(403);
    expect((await keyOf("cell 7"))?.scopes).toEqual(["robots:setup"]);

    // Escape does not close the dialog.
    for (let time = 0; time < 2; time += 1) {
      await page.keyboard.press("Escape");
      await page.getByText("Store the key first: it cannot be shown again.").waitFor();
      expect(await page.locator(".key-once code").innerText()).toBe(secret);
    }
    await page.getByRole("button", { name: "I have stored it" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("rowheader", { name: "cell 7" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(await page.getByRole("row", { name: /cell 7/ }).textContent()).toContain(`sk_rps_…${secret.slice(-4)}`);
    expect(
      await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie"),
    ).not.toContain(secret);
    expect(running().log()).not.toContain(secret);
  });

  it("new key shown, then Back twice and the session ends → still shown", async () => {
    const { id, api_key: apiKey } = await createKey(running(), "maker");
    const page = await open(apiKey);
    await page.getByRole("link", { name: "Usage" }).first().click();
    await page.getByRole("link", { name: "Keys" }).first().click();
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Label").fill("cell 8");
    await page.keyboard.press("Enter");
    const secret = await page.locator(".key-once code").innerText();
    for (let time = 0; time < 2; time += 1) {
      await page.evaluate("history.back()");
      await expect.poll(() => page.url()).toBe(`${running().url}/keys`);
      expect(await page.locator(".key-once code").innerText()).toBe(secret);
    }
    const refused = page.waitForResponse((response) => response.status() === 401);
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await refused;
    expect(await page.locator(".key-once code").innerText()).toBe(secret);
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByText("Your session has ended.").waitFor();
    expect(await page.locator(".key-once").count()).toBe(0);
  });

  it("sorted by a column that only revoked keys have, then the current ones → in the usual order", async () => {
    const page = await openSignedIn(running(), "/keys?show=revoked&sort=-revoked");
    await page.getByRole("link", { name: /^Current/ }).click();
    const state = page.getByRole("columnheader", { name: "State" });
    await expect.poll(() => state.getAttribute("aria-sort")).toBe("ascending");
  });

  it("table at each width → no button is cut off by its cell", async () => {
    const page = await open();
    const button = page.getByRole("button", { name: /^Revoke / }).first();
    await button.waitFor();
    for (const width of [1000, 1280, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      const isCut = () =>
        page.evaluate(
          "[...document.querySelectorAll('td:has(button)')].some((cell) => cell.scrollWidth > cell.clientWidth)",
        );
      await expect.poll(isCut).toBe(false);
    }
  });

  it("Back and Escape while a key is being created → the dialog stays open", async () => {
    const page = await open();
    await page.getByRole("link", { name: "Usage" }).first().click();
    await page.getByRole("link", { name: "Keys" }).first().click();
    const requested = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    await page.route("**/v1/me/api-keys", async (route) => {
      if (route.request().method() !== "POST") return route.continue();
      requested.resolve();
      await answered.promise;
      return route.continue();
    });
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Label").fill("cell 10");
    await page.keyboard.press("Enter");
    await requested.promise;
    await page.evaluate("history.back()");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    // Without the guard, the page would be left by now.
    await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    expect(await page.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
    answered.resolve();
    await page.getByRole("dialog", { name: "The key cell 10" }).waitFor();
    expect(await statusWith(await page.locator(".key-once code").innerText())).toBe(403);
    expect(page.url()).toBe(`${running().url}/keys`);
  });

  it("scopes and expiry chosen → key with exactly these", async () => {
    const page = await open();
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Label").fill("reader");
    await page.getByLabel("Do what I choose").check();
    expect(await page.getByRole("button", { name: "Create key" }).isDisabled()).toBe(true);
    await page.getByRole("checkbox", { name: /See robots/ }).check();
    await page.getByRole("checkbox", { name: /See usage/ }).check();
    // A key that may do more than register robots ends after 90 days, unless another time is chosen.
    expect(await page.getByLabel("Expires").locator("option:checked").innerText()).toBe("In 90 days");
    await page.getByLabel("Expires").selectOption("In 30 days");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("button", { name: "I have stored it" }).click();
    const key = await keyOf("reader");
    expect(key?.scopes).toEqual(["robots:read", "usage:read"]);
    const days = (Date.parse(key?.expires_at ?? "") - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
  });

  it("date years ahead → shown in full, with the exact time as its title", async () => {
    await running().send("POST", "/v1/me/api-keys", { label: "far", expires_at: "2031-05-06T10:00:00Z" });
    const page = await open();
    const expiry = page.getByRole("row", { name: /far/ }).getByText("6 May 2031");
    expect(await expiry.getAttribute("title")).toBe("6 May 2031, 12:00:00 CEST");
  });

  it("revoke → shows what stops, only after the label is typed", async () => {
    const { api_key: apiKey } = await createKey(running(), "hall 3");
    const page = await open();
    await page.getByRole("button", { name: "Revoke hall 3" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke hall 3?" });
    expect(await dialog.innerText()).toContain("cannot register changes");
    expect(await violationsInDialog(page)).toEqual([]);
    const button = dialog.getByRole("button", { name: "Revoke key" });
    await page.keyboard.type("hall 4");
    expect(await button.isDisabled()).toBe(true);
    await page.keyboard.press("Enter");
    expect(await statusWith(apiKey)).toBe(200);
    await dialog.getByLabel("Type hall 3 to confirm").fill("hall 3");
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: /hall 3/ }).waitFor({ state: "detached" });
    // The focused button is gone: the focus moves to the heading.
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
    await page.getByRole("link", { name: "Revoked", exact: true }).click();
    await expect.poll(() => page.url()).toBe(`${running().url}/keys?show=revoked`);
    await page
      .getByRole("row", { name: /hall 3/ })
      .getByText("Revoked")
      .waitFor();
    expect(await statusWith(apiKey)).toBe(401);
    expect(await page.getByRole("button", { name: "Revoke hall 3" }).count()).toBe(0);
  });

  it("revoke a key that made others → names them; rotate → a new key, on which they depend", async () => {
    const parent = await createKey(running(), "foreman");
    const headers = { authorization: `Bearer ${parent.api_key}`, "content-type": "application/json" };
    const body = JSON.stringify({ label: "arm of the foreman" });
    await fetch(`${running().url}/v1/me/api-keys`, { method: "POST", headers, body });
    const page = await open();
    await page.getByRole("button", { name: "Revoke foreman" }).click();
    const dialog = page.getByRole("dialog", { name: "Revoke foreman?" });
    expect(await dialog.innerText()).toContain("It also ends 1 key made with it: arm of the foreman.");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.setViewportSize({ width: 1600, height: 900 });
    await page.getByRole("button", { name: "Rotate foreman" }).click();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByLabel("The former key works").selectOption("0");
    await page.getByRole("button", { name: "Rotate key" }).click();
    const secret = await page.locator(".key-once code").innerText();
    await page.getByRole("button", { name: "I have stored it" }).click();
    expect([await statusWith(parent.api_key), await statusWith(secret)]).toEqual([401, 200]);
    expect((await keyOf("arm of the foreman"))?.parent_id).not.toBe(parent.id);
  });

  it("the person's own key → marked; revoked by them → signed out", async () => {
    const { api_key: apiKey } = await createKey(running(), "mine");
    const page = await open(apiKey);
    const row = page.getByRole("row", { name: /mine/ });
    await row.getByText("yours").waitFor();
    expect(await page.getByText("yours").count()).toBe(1);
    await row.getByRole("button", { name: "Revoke mine" }).click();
    await page.getByText("This includes you: you signed in with this key.").waitFor();
    await page.getByLabel("Type mine to confirm").fill("mine");
    await page.keyboard.press("Enter");
    await page.getByText("Your session has ended.").waitFor();
  });

  it("restricted own key → offers only its scopes, cannot revoke a key that may do more", async () => {
    const scopes = ["api-keys:write", "api-keys:read", "models:read"];
    const { api_key: apiKey } = await createKey(running(), "office", scopes);
    const page = await open(apiKey);
    await page.getByRole("button", { name: "New key" }).click();
    expect(await page.getByRole("radio").count()).toBe(1);
    expect(await page.getByRole("checkbox").count()).toBe(3);
    await page.keyboard.press("Escape");
    // This key may do more than the person's own.
    await createKey(running(), "boss");
    await page.getByRole("button", { name: "Revoke boss" }).click();
    await page.getByLabel("Type boss to confirm").fill("boss");
    await page.keyboard.press("Enter");
    await page.getByText("The API key may not revoke one that may do more than itself").waitFor();
    expect((await keyOf("boss"))?.revoked_at).toBeNull();
  });

  it("label with markup → shown as text; label that cannot be typed → confirmed by the last four characters", async () => {
    const label = "<img src=x onerror=alert(1)>";
    await createKey(running(), label);
    const spaces = await createKey(running(), "  two  spaces ");
    const page = await open();
    await page.getByRole("rowheader", { name: label }).waitFor();
    await page.getByRole("button", { name: /^Revoke\s+two/ }).click();
    await page.getByLabel(`Type ${spaces.key_last4} to confirm`).waitFor();
    await page.keyboard.press("Escape");
    // Looks like "cell exe.1".
    const reversed = await createKey(running(), "cell \u202e1.exe");
    await page.getByRole("rowheader", { name: "cell \\u202e1.exe" }).waitFor();
    await page.getByRole("button", { name: new RegExp(`^Revoke.*${reversed.key_last4}`) }).click();
    await page.getByLabel(`Type ${reversed.key_last4} to confirm`).waitFor();
    await page.keyboard.press("Escape");
    // The longest label that the service accepts, as one word, does not widen the dialog.
    const long = await createKey(running(), "W".repeat(256));
    await page.getByRole("button", { name: new RegExp(`^Revoke.*${long.key_last4}`) }).click();
    await page.getByLabel(`Type ${long.key_last4} to confirm`).waitFor();
    expect(await page.evaluate("document.querySelector('dialog').scrollWidth")).toBeLessThan(600);
  });
});
