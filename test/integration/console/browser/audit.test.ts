/** @module-tag needs/browser */
import { readFile } from "node:fs/promises";

import { expect, it } from "vitest";

import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { createKey } from "../../../support/service/service.ts";
import { violations, violationsInDialog } from "./axe.ts";

describeConsole("audit", startConsole, (running) => {
  it("sentences, newest first; sign-ins only where they are asked for; CSV in full", async () => {
    await createKey(running(), "cell 4");
    const page = await openSignedIn(running(), "/audit");
    await page.getByText("bootstrap created the key cell 4").waitFor();
    expect(await page.getByText("signed in").count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Sign-ins").selectOption("Shown");
    await page.getByText("bootstrap signed in").first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    const lines = (await readFile(await download.path(), "utf8")).split("\r\n");
    expect(lines[0]).toBe("\uFEFFwhen,what,from,details,by,action,subject,id");
    expect(lines).toContainEqual(expect.stringMatching(/^\d{4}-\S+Z,bootstrap created the key cell 4,/));
  });

  it("more than a page → pages to the beginning, and back", async () => {
    const page = await openSignedIn(running(), "/audit");
    await page.route("**/v1/me/audit?limit=1000**", async (route) => {
      const asked = new URL(route.request().url());
      const before = asked.searchParams.get("before");
      const items = Array.from({ length: before === null ? 1000 : 1 }, (_, index) => ({
        id: `aud_${before === null ? 9999 - index : 1}`,
        at: new Date(Date.now() - index * 1000).toISOString(),
        action: "api_key.create",
        subject_id: "key_1",
        subject_name: before === null ? `key ${index}` : "first",
        subject_model: null,
        actor: { id: "key_1", label: "bootstrap" },
        request_id: null,
        details: {},
      }));
      await route.fulfill({ json: { items } });
    });
    await page.reload();
    await page.getByRole("link", { name: "Earlier changes" }).click();
    await page.getByText("bootstrap created the key first").waitFor();
    expect(new URL(page.url()).searchParams.get("before")).toBe("aud_9000");
    await page.getByText("This is the beginning.").waitFor();
    await page.getByRole("link", { name: "Newest" }).click();
    await page.getByText("bootstrap created the key key 0").waitFor();
  });

  it("keyboard: / searches, ? lists the keys, Escape closes", async () => {
    const page = await openSignedIn(running(), "/audit");
    const search = page.getByRole("searchbox");
    await search.waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("a/b?");
    expect(await search.inputValue()).toBe("a/b?");
    await page.getByRole("heading", { level: 1 }).focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor({ state: "detached" });
  });
});
