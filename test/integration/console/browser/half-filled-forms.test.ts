/** @module-tag needs/browser */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";

import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { createKey } from "../../../support/service/service.ts";
import { violationsInDialog } from "./axe.ts";

describeConsole("half-filled forms", startConsole, (running) => {
  /** Opens the page at this path from the audit page. */
  async function open(path: string, key?: string): Promise<Page> {
    const page = await openSignedIn(running(), "/audit", key);
    // Through a link of the console, without a reload.
    await page.evaluate(`document.querySelector("nav a").href = ${JSON.stringify(path)}`);
    await page.locator("nav:visible a").first().click();
    await expect.poll(() => page.url()).toBe(running().url + path);
    return page;
  }

  const question = (page: Page) => page.getByRole("dialog", { name: "Leave without saving?" });
  /** Goes back, and resolves once the page receives the event. */
  const back = (page: Page) =>
    page.evaluate(`new Promise((resolve) => {
      addEventListener("popstate", () => resolve(), { once: true });
      history.back();
    })`);
  const heading = (page: Page, name: RegExp) => page.getByRole("heading", { level: 1, name }).waitFor();

  it("Back or a link would lose a new fleet → asks first; Stay and Escape keep the form", async () => {
    const page = await open("/fleets/new");
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Hall 1");
    await back(page);
    await question(page).waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await question(page).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Robots", exact: true }).click();
    await question(page).waitFor();
    await page.keyboard.press("Escape");
    await question(page).waitFor({ state: "detached" });
    expect([page.url(), await name.inputValue()]).toEqual([`${running().url}/fleets/new`, "Hall 1"]);
    await page.getByRole("link", { name: "Robots", exact: true }).click();
    await question(page).getByRole("button", { name: "Leave" }).click();
    await heading(page, /^Robots/);
  });

  it("Leave after Back → the page that Back leads to", async () => {
    const page = await open("/fleets/new");
    await page.getByLabel("Scheduled").check();
    await back(page);
    await question(page).getByRole("button", { name: "Leave" }).click();
    await heading(page, /^Audit/);
  });

  it("nothing entered, or Cancel → does not ask", async () => {
    const page = await open("/fleets/new");
    await back(page);
    await heading(page, /^Audit/);
    await page.goForward();
    await page.getByLabel("Name", { exact: true }).fill("Hall 1");
    await page.getByRole("button", { name: "Cancel" }).click();
    await heading(page, /^Fleets/);
  });

  it.each([
    ["/keys", "New key", "Label"],
    ["/webhooks", "New webhook", "URL"],
    ["/deployments", "Deploy", "Robot"],
  ])("%s: Back would lose the dialog %s → asks first", async (path, button, label) => {
    const page = await open(path);
    await page.getByRole("button", { name: button }).click();
    const field = page.getByRole("dialog").getByLabel(label, { exact: true });
    await field.fill("half");
    await back(page);
    await question(page).getByRole("button", { name: "Stay" }).click();
    expect(await field.inputValue()).toBe("half");
    await back(page);
    await question(page).getByRole("button", { name: "Leave" }).click();
    await heading(page, /^Audit/);
  });

  it("session ended, Back → asks after the next sign-in", async () => {
    const { id, api_key: key } = await createKey(running(), "short");
    const page = await open("/fleets/new", key);
    await page.getByLabel("Name", { exact: true }).fill("Hall 1");
    await running().send("DELETE", `/v1/me/api-keys/${id}`);
    await page.getByText("Your session has ended.").waitFor();
    await back(page);
    expect(page.url()).toBe(`${running().url}/fleets/new`);
    await page.getByLabel("API key").fill(running().key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await question(page).getByRole("button", { name: "Stay" }).click();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Hall 1");
  });

  it("link would lose the corrected name of a waiting robot → asks first", async () => {
    const { user_code: code } = await new RobotComputer(() => running().url).start();
    const page = await open(`/enrolments/${code}`);
    await page.getByLabel("Name of the robot").fill("arm-one");
    await page.getByRole("link", { name: "← Enrolments" }).click();
    await question(page).waitFor();
  });
});
