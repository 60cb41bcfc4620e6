/** @module-tag needs/browser */
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";

import { keyFingerprint } from "../../../../src/platform/ed25519.ts";
import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { createKey } from "../../../support/service/service.ts";
import { violations, violationsInDialog } from "./axe.ts";

describeConsole("allowed keys", startConsole, (running) => {
  const open = (path: string, key?: string) => openSignedIn(running(), path, key);

  const computers = () => [new RobotComputer(() => running().url), new RobotComputer(() => running().url)] as const;
  const rowOf = (page: Page, { publicKey }: RobotComputer) =>
    page.getByRole("row").filter({ hasText: keyFingerprint(publicKey) });
  const badgeOf = (page: Page, computer: RobotComputer, word: RegExp) =>
    rowOf(page, computer).locator(".badge").filter({ hasText: word });

  it("keys allowed → used without approval, with the robot shown; key removed → needs an approval", async () => {
    const [first, second] = computers();
    const page = await open("/enrolments");
    await page.getByRole("link", { name: "Allowed keys" }).click();
    await page.getByRole("button", { name: "Allow keys" }).click();
    await page
      .getByLabel("Keys", { exact: true })
      .fill(`# batch 7\n${first.publicKey} # line 1\n\n${second.publicKey}\n`);
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("2 keys are allowed.").waitFor();
    await badgeOf(page, second, /^Unused$/).waitFor();
    expect(await violations(page)).toEqual([]);

    await first.poll(await first.start({ requested_name: "arm-7" }));
    await badgeOf(page, first, /^Used$/).waitFor();
    await rowOf(page, first).getByRole("link", { name: "arm-7" }).waitFor();

    await page.getByRole("button", { name: `Remove ${keyFingerprint(second.publicKey)}` }).click();
    await page.getByText("A computer with this key needs an approval from now on.").waitFor();
    expect(await violationsInDialog(page)).toEqual([]);
    await page.getByRole("button", { name: "Remove key" }).click();
    await rowOf(page, second).waitFor({ state: "detached" });
    // The focused button is gone: the focus moves to the heading.
    expect(await page.evaluate("document.activeElement.tagName")).toBe("H1");
    expect((await second.start({ requested_name: "arm-8" })).approval_required).toBe(true);
  });

  it("no key allowed → says so", async () => {
    const empty = await startConsole();
    onTestFinished(() => empty[Symbol.asyncDispose]());
    const page = await openSignedIn(empty, "/enrolments/allowed");
    await page.getByText("No key is allowed").waitFor();
  });

  it("file with an invalid key → error of the field until it is corrected", async () => {
    const [computer] = computers();
    const page = await open("/enrolments/allowed");
    await page.getByRole("button", { name: "Allow keys" }).click();
    const buffer = Buffer.from(`${computer.publicKey}\nssh-rsa AAAA\n`);
    await page
      .getByLabel("Or take them from a file")
      .setInputFiles({ name: "keys.txt", mimeType: "text/plain", buffer });
    const keys = page.getByLabel("Keys", { exact: true });
    await expect.poll(() => keys.inputValue()).toBe(String(buffer));
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText(/ssh-rsa AAAA: .*neither an Ed25519 public key/).waitFor();
    expect(await keys.getAttribute("aria-invalid")).toBe("true");
    await keys.fill(computer.publicKey);
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByText("The key is allowed.").waitFor();
    await badgeOf(page, computer, /^Unused$/).waitFor();
  });

  it("key that may only read → no link to allowed keys", async () => {
    const { api_key: key } = await createKey(running(), "reader", ["robots:read"]);
    const page = await open("/enrolments", key);
    await page.getByRole("heading", { level: 1, name: /^Enrolments/ }).waitFor();
    expect(await page.getByRole("link", { name: "Allowed keys" }).count()).toBe(0);
  });
});
