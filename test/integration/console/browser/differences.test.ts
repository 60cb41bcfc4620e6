/** @module-tag needs/browser */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";

import { getRobotHistory } from "../../../../src/api/registrations.ts";
import { describeConsole, openSignedIn, startConsoleWithModel } from "../../../support/browser.ts";
import {
  calibration,
  camera,
  createFleetWithOutlier,
  file,
  register,
} from "../../../support/service/registered-parts.ts";
import { violations } from "./axe.ts";

const PHONE = { width: 390, height: 844 };

const start = () => startConsoleWithModel("us-west-2");

/** In both themes, and on a phone, where the page does not scroll sideways. */
async function expectAccessible(page: Page): Promise<void> {
  const before = page.viewportSize();
  await page.setViewportSize(PHONE);
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await violations(page)).toEqual([]);
  }
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(PHONE.width);
  if (before !== null) await page.setViewportSize(before);
}

/** What differs: the subject with the change, and the details. */
async function shownDifferences(page: Page): Promise<readonly (readonly string[])[]> {
  await page.getByRole("heading", { level: 2 }).first().waitFor();
  const items = await page.locator(".differences > li").all();
  return Promise.all(items.map(async (item) => (await item.innerText()).split("\n").filter((line) => line !== "")));
}

describeConsole("differences", start, (service) => {
  it("registration of the history → what it changed in files, devices and labels, by an address of its own", async () => {
    const long = "x".repeat(300);
    const limits = [file("limits.yaml", "torque: 40\n", false), file("limits.yaml", "torque: 50\n", false)] as const;
    const notes = [file("notes.txt", "  one\n"), file("notes.txt", `  two ${long}\n`)] as const;
    const first = [file("right arm", calibration(1024)), camera("top camera", "4F3A"), limits[0], notes[0]];
    const second = [file("right arm", calibration(1218)), camera("top camera", "58FA"), limits[1], notes[1]];
    await register(service(), "arm-1", first);
    await register(service(), "arm-1", second, { labels: { line: "a" } });
    await register(service(), "arm-1", first, { labels: { line: "a" } });
    const page = await openSignedIn(service(), "/robots/arm-1");
    const table = page.getByRole("group", { name: "History of registrations" });
    await table.getByRole("link").nth(1).waitFor();
    expect(await table.getByRole("link").count()).toBe(2);
    await expectAccessible(page);
    await table.getByRole("link").nth(1).click();
    await page.getByRole("heading", { level: 1, name: /^arm-1, .+ CET, against .+ CET$/ }).waitFor();
    expect(await shownDifferences(page)).toEqual([
      ["right arm", "changed", "shoulder_pan.homing_offset 1024 → 1218 (+194, 17.1°)"],
      ["top camera", "changed", 'serial "4F3A" → "58FA"'],
      ["limits.yaml", "changed", expect.stringMatching(/^[0-9a-f]{12} → [0-9a-f]{12}; with share: true in the/)],
      ["notes.txt", "changed", "line 1: −   one", expect.stringMatching(/^line 1: \+ {3}two x+…$/)],
      ["label line", "added: a"],
    ]);
    await expectAccessible(page);
    const history = await (await service().send("GET", "/v1/robots/arm-1/history")).json();
    const [, changed] = getRobotHistory.response.parse(history).items;
    expect(new URL(page.url()).search).toBe(`?registration=${changed?.registration_id}`);
    await page.getByRole("link", { name: "← arm-1" }).click();
    await page.getByRole("heading", { level: 1, name: "arm-1" }).waitFor();
  });

  it("compare with another robot → found by name, its address opens the same page; an unknown one is said", async () => {
    await register(service(), "left-1", [file("right arm", calibration(1))]);
    await register(service(), "left-2", [file("right arm", calibration(2))]);
    const page = await openSignedIn(service(), "/robots/left-1");
    const field = page.getByLabel("Compare with");
    await field.focus();
    const names = page.locator("datalist option");
    await names.filter({ hasText: "left-2" }).waitFor({ state: "attached" });
    expect(await names.allTextContents()).not.toContain("left-1");
    await field.fill("left-2");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /^left-1, .+, against left-2, .+$/ }).waitFor();
    const expected = [["right arm", "changed", "shoulder_pan.homing_offset 2 → 1 (−1, 0.1°)"]];
    expect(await shownDifferences(page)).toEqual(expected);
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe("/robots/left-1/differences?against=left-2");
    await page.reload();
    expect(await shownDifferences(page)).toEqual(expected);
    await page.goto(`${service().url}/robots/left-1/differences?against=left-1`);
    await page.getByText("Nothing differs.").waitFor();
    await page.goto(`${service().url}/robots/left-1/differences?against=nobody`);
    await page.getByText("The service does not have this comparison.").waitFor();
    await page.getByText("Robot not found.").waitFor();
  });

  it("fleet → what most have, the outlier with a link to how it differs from one of most, robots that did not tell", async () => {
    const id = await createFleetWithOutlier(service());
    const page = await openSignedIn(service(), `/fleets/${id}`);
    await page.getByRole("link", { name: "Differences" }).click();
    await page.getByRole("heading", { level: 1, name: "Differences in packing" }).waitFor();
    expect(await shownDifferences(page)).toEqual([
      ["extra.yaml", "8 have none", expect.stringMatching(/^cell-4 [0-9a-f]{12}$/)],
      ["right arm", "9 values"],
    ]);
    await page.getByText(/^10 robots: \d+ parts equal on all, 2 others differ\.$/).waitFor();
    await page.getByText("quiet did not tell what its digest covers.").waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "cell-4" }).click();
    await page.getByRole("heading", { level: 1, name: /^cell-4, .+, against cell-0, .+$/ }).waitFor();
    expect(await shownDifferences(page)).toEqual([
      ["right arm", "changed", "shoulder_pan.homing_offset 0 → 4 (+4, 0.4°)"],
      ["extra.yaml", "added"],
    ]);
  });
});
