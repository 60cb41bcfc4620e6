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

  it("link or Back would lose a new fleet → the browser asks; the form stays", async () => {
    const page = await openSignedIn(running(), "/fleets");
    await page.getByRole("link", { name: "New fleet" }).first().click();
    const asked = answer(page, false);
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("Hall 1");
    await robots(page).click();
    await expect.poll(asked).toBe(1);
    await page.evaluate("history.back()");
    await expect.poll(asked).toBe(2);
    await expect.poll(() => page.url()).toBe(`${running().url}/fleets/new`);
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
    const page = await openSignedIn(running(), "/fleets/new");
    const asked = answer(page, false);
    await robots(page).click();
    await page.getByRole("heading", { level: 1, name: /^Robots/ }).waitFor();
    await page.goBack();
    await page.getByLabel("Name", { exact: true }).fill("Hall 1");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { level: 1, name: /^Fleets/ }).waitFor();
    expect(asked()).toBe(0);
  });
});
