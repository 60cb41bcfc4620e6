/** @module-tag needs/browser */
import { expect, it } from "vitest";

import { apiKeyListSchema } from "../../../../src/api/keys.ts";
import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { violationsInDialog } from "./axe.ts";

const DAY_MS = 86_400_000;

describeConsole("keys for enrolments", startConsole, (running) => {
  it("new key for a site → shows which robots used it, when, and from where", async () => {
    const page = await openSignedIn(running(), "/keys");
    await page.getByRole("button", { name: "New key" }).click();
    await page.getByLabel("Label").fill("images of July");
    await page.getByLabel("Enroll robots").check();
    expect(await page.getByRole("button", { name: "Create key" }).isDisabled()).toBe(true);
    await page.getByLabel("Robots at most").fill("2");
    await page.getByLabel("Site").fill("plant-1");
    await page.getByLabel("Expires").selectOption("In 30 days");
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByRole("button", { name: "Create key" }).click();
    const key = await page.locator(".key-once code").innerText();
    await page.getByRole("button", { name: "I have stored it" }).click();
    const { items } = apiKeyListSchema.parse(await (await running().send("GET", "/v1/me/api-keys")).json());
    const made = items.find(({ label }) => label === "images of July");
    expect(made).toMatchObject({ scopes: ["robots:enroll"], enrollment: { uses: 2, site: "plant-1" } });
    expect(Math.round((Date.parse(made?.expires_at ?? "") - Date.now()) / DAY_MS)).toBe(30);

    await page.setViewportSize({ width: 1600, height: 900 });
    await page.getByRole("link", { name: "2 of 2 left" }).waitFor();
    const computer = new RobotComputer(() => running().url);
    const started = await computer.start({ requested_name: "arm-1" }, key);
    expect((await computer.poll(started)).status).toBe("approved");
    await page.getByRole("link", { name: "1 of 2 left" }).click();
    const row = page.getByRole("row", { name: /images of July enrolled the robot arm-1/ });
    await row.waitFor();
    expect(await row.textContent()).toContain("127.0.0.1");
    expect(await row.count()).toBe(1);
  });
});
