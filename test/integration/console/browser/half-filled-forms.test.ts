/** @module-tag needs/browser */
import type { Dialog, Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";

import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";

describeConsole("half-filled forms", startConsole, (running) => {
  /** Answers the browser's question whether to leave the page, and resolves with how often it asked. */
  function answer(page: Page, doesLeave: boolean): () => number {
    let count = 0;
    const decide = (dialog: Dialog) => {
      count += 1;
      void (doesLeave ? dialog.accept() : dialog.dismiss());
    };
    page.on("dialog", decide);
    // Whoever takes over the window answers for itself.
    onTestFinished(() => void page.off("dialog", decide));
    return () => count;
  }
  const robots = (page: Page) => page.getByRole("link", { name: "Robots", exact: true });

  it("Back would lose a new fleet → the browser asks; the form stays", async () => {
    const page = await openSignedIn(running(), "/fleets");
    await page.getByRole("link", { name: "Usage" }).first().click();
    await page.getByRole("link", { name: "Fleets", exact: true }).click();
    await page.getByRole("button", { name: "New fleet" }).click();
    const asked = answer(page, false);
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Hall 1");
    await page.evaluate("history.back()");
    await expect.poll(asked).toBe(1);
    await expect.poll(() => page.url()).toBe(`${running().url}/fleets`);
    expect(await name.inputValue()).toBe("Hall 1");
  });

  it("link would lose the corrected name of a waiting robot → the browser asks, and leaves", async () => {
    const { user_code: code } = await new RobotComputer(() => running().url).start();
    const page = await openSignedIn(running(), `/enrolments/${code}`);
    const asked = answer(page, true);
    await page.getByLabel("Name of the robot").fill("arm-one");
    await robots(page).click();
    await page.getByRole("heading", { level: 1, name: /^Robots/ }).waitFor();
    expect(asked()).toBe(1);
  });

  it("nothing entered, or Cancel → does not ask", async () => {
    const { user_code: code } = await new RobotComputer(() => running().url).start();
    const page = await openSignedIn(running(), `/enrolments/${code}`);
    const asked = answer(page, false);
    await page.getByLabel("Name of the robot").waitFor();
    await page.getByRole("link", { name: "Fleets", exact: true }).click();
    await page.getByRole("button", { name: "New fleet" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Hall 1");
    await page.getByRole("button", { name: "Cancel" }).click();
    await robots(page).click();
    await page.getByRole("heading", { level: 1, name: /^Robots/ }).waitFor();
    expect(asked()).toBe(0);
  });
});
