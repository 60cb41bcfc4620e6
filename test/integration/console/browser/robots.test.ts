/** @module-tag needs/browser */
import { readFile } from "node:fs/promises";

import { expect, it } from "vitest";

import {
  borrowWindow,
  countReceived,
  describeConsole,
  openWindow,
  signIn,
  untilLive,
  type Window,
} from "../../../support/browser.ts";
import { atPresentSpeed } from "../../../support/run/processor.ts";
import { type DemoService, startDemo } from "../../../support/service/demo-service.ts";
import { createKey } from "../../../support/service/service.ts";

/** Limit of the bytes transferred for the page, with headers: HTML, script, style sheet and icon. */
const TRANSFER_BYTES = 62 * 1024;
/** Limit of the layout shift over the life of the page (https://web.dev/articles/cls calls 0.1 good). */
const SHIFT = 0.005;
/** Limit of the page's CPU time, from its request until four typed letters have filtered a thousand rows. */
const INTERACTIVE_S = 2;
const YAM_TYPE = "yam.bimanual-joint-position.v1";

const start = () => startDemo({ robots: 60, fleets: 0 });

/** Whether a state, or a line below it, does not fit its cell. */
const IS_STATE_CUT = `[...document.querySelectorAll("tbody td:nth-child(2), tbody .second-line")].some((each) =>
  each.scrollHeight > each.clientHeight || each.scrollWidth > each.clientWidth)`;

describeConsole("robots", start, (demo) => {
  async function register(name: string, robotTypeId: string, members: object = {}): Promise<void> {
    const answer = await demo().service.send("POST", "/v1/robots/setup", {
      name,
      robot_type_id: robotTypeId,
      region: "eu-central-1",
      configuration_digest: `sha256:${"0".repeat(64)}`,
      ...members,
    });
    expect(answer.status).toBe(200);
  }
  it("search: pause after a blank → the blank stays", async () => {
    const { page } = await openRobots(demo());
    const search = page.getByLabel("Search robots");
    await search.pressSequentially("yam ");
    await expect.poll(() => new URL(page.url()).search).toBe("?q=yam+");
    await search.pressSequentially("line=a");
    await expect.poll(() => new URL(page.url()).search).toBe("?q=yam+line%3Da");
    expect(await search.inputValue()).toBe("yam line=a");
  });

  it("search and filter → kept in the URL, restored by a reload, cleared by Clear", async () => {
    const { page } = await openRobots(demo());
    await page.getByLabel("Search robots").fill("yam line=a");
    await page.getByLabel("Site").selectOption("hall-1");
    await page.getByText(/^\d+ of \d+ robots$/).waitFor();
    await expect.poll(() => new URL(page.url()).search).toBe("?q=yam+line%3Da&site=hall-1");
    const heads = page.locator("tbody th");
    // The page renders the rows after it has changed the URL.
    await expect.poll(() => heads.filter({ hasNotText: /^yam-/ }).count()).toBe(0);
    const names = await heads.allTextContents();
    expect(names.length).toBeGreaterThan(0);
    await page.reload();
    await expect.poll(() => heads.allTextContents()).toEqual(names);
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(() => page.locator("tbody tr").count()).toBe((await demo().service.robots()).length);
    expect(new URL(page.url()).search).toBe("");
  });

  it("digests not loaded yet → robots with a placeholder instead of a dash", async () => {
    const { page } = await borrowWindow();
    const answered = Promise.withResolvers<void>();
    await page.route("**/v1/me/registrations", async (route) => {
      await answered.promise;
      return route.continue();
    });
    await signIn(page, demo().service, "/robots?q=cell-0003");
    const row = page.getByRole("row", { name: /cell-0003/ });
    await row.getByText("…").first().waitFor();
    expect(await row.innerText()).not.toContain("–");
    answered.resolve();
    await row.getByText(/^[0-9a-f]{12}$/).waitFor();
  });

  it("sort with the keyboard → rows in the order that aria-sort names", async () => {
    const { page } = await openRobots(demo(), "?q=cell-000");
    const name = page.getByRole("columnheader", { name: "Name" });
    expect(await name.getAttribute("aria-sort")).toBe("ascending");
    await name.getByRole("button").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => name.getAttribute("aria-sort")).toBe("descending");
    const names = await page.locator("tbody th").allTextContents();
    expect(names).toEqual([...names].toSorted().toReversed());
    await page.getByRole("link", { name: names[0]! }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: names[0]! }).waitFor();
  });

  it("robot offline for an hour → its state and since when, both whole", async () => {
    const { page } = await borrowWindow();
    await page.route("**/v1/robots", async (route) => {
      const response = await route.fetch();
      const robots = (await response.json()) as readonly object[];
      const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
      const offline = { status: "offline", presence: "offline", installation_id: "ins_1", last_seen_at: hourAgo };
      await route.fulfill({ response, json: robots.map((robot) => Object.assign(robot, offline)) });
    });
    await signIn(page, demo().service, "/robots?q=cell-0003");
    const state = page
      .getByRole("row", { name: /cell-0003/ })
      .getByRole("cell")
      .first();
    await state.getByText(/^(59 min|1 h) ago$/).waitFor();
    expect(await page.evaluate(IS_STATE_CUT)).toBe(false);
  });

  it("robot with an API key → not monitored, whole also in a narrow window", async () => {
    const { page } = await borrowWindow();
    await page.setViewportSize({ width: 800, height: 800 });
    await signIn(page, demo().service, "/robots?q=cell-0003");
    await page
      .getByRole("row", { name: /cell-0003/ })
      .getByText("Not monitored")
      .waitFor();
    expect(await page.evaluate(IS_STATE_CUT)).toBe(false);
  });

  it("phone → the table scrolls sideways, and the page does not", async () => {
    const { page } = await openWindow({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true });
    await signIn(page, demo().service, "/robots?q=cell-00");
    await page.getByRole("row", { name: /cell-0003/ }).waitFor();
    const table = page.locator(".table-scroll");
    expect(await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)).toBe(true);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.getByRole("button", { name: "Name" }).click();
    await expect.poll(async () => (await page.locator("tbody th").allTextContents()).at(-1)).toBe("cell-0003");
  });

  it("new registration → shown without a reload, its changes are in the robot's history", async () => {
    const { page } = await openRobots(demo());
    await page.getByLabel("Search robots").fill("latecomer");
    await page.getByRole("heading", { name: "No robot matches" }).waitFor();
    await untilLive(page);
    await register("latecomer", YAM_TYPE);
    await page.getByRole("link", { name: "latecomer" }).click();
    await page.getByText("First registration on record").waitFor();
    await register("latecomer", YAM_TYPE, { site: "hall-9", configuration_digest: `sha256:${"b".repeat(64)}` });
    await page.getByText("configuration files, added site (now hall-9)").waitFor();
    await page.getByText("bbbbbbbbbbbb").first().waitFor();
  });

  it("contract of a custom robot → as tables and as it was sent", async () => {
    const { page } = await borrowWindow();
    await signIn(page, demo().service, "/robots/cell-0003");
    const axes = page.getByRole("group", { name: "Action axes, in vector order" });
    await axes.waitFor();
    expect(await axes.locator("tbody tr").first().innerText()).toBe(
      "0\tarm.shoulder_pan.position\trad\t-2.0944 … 2.0944\t0.15\t0.0174533 × deg",
    );
    await page.getByText("As it was sent (JSON)").click();
    expect(JSON.parse(await page.locator("pre").innerText())).toMatchObject({ schema: "robot-contract/v1" });
  });

  it("two computers register one name in turn, one is refused → shown as contested, with the refusal", async () => {
    const { url } = demo().service;
    const keys = await Promise.all(
      ["cell 4", "cell 7"].map((label) => createKey(demo().service, label, ["robots:setup"])),
    );
    const setup = async (key: string, digit: string) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const robot = { name: "clone", robot_type_id: "acme.odd.v1", region: "eu-central-1" };
      const body = JSON.stringify({ ...robot, configuration_digest: `sha256:${digit.repeat(64)}` });
      return (await fetch(`${url}/v1/robots/setup`, { method: "POST", headers, body })).status;
    };
    const [one, other] = keys.map(({ api_key: apiKey }) => apiKey);
    for (const [key = "", digit] of [
      [one, "d"],
      [other, "e"],
      [one, "d"],
    ] as const) {
      expect(await setup(key, digit)).toBe(200);
    }
    expect(await setup(one ?? "", "no digest")).toBe(422);
    const registration = async () => (await demo().service.send("GET", "/v1/robots/clone/registration")).text();
    await expect.poll(registration, { interval: 100 }).toContain('"status":422');

    const { page, complaints } = await openRobots(demo(), "?state=contested");
    expect(await page.getByRole("rowheader").allTextContents()).toEqual(["clone"]);
    await page.getByRole("link", { name: "clone" }).click();
    await page.getByText("2 computers register this name in turn.").waitFor();
    await page
      .getByText(/From 127\.0\.0\.1 \(cell 4\) and 127\.0\.0\.1 \(cell 7\)\. Give each computer its own name/)
      .waitFor();
    await page.getByText("The newest registration was refused.").waitFor();
    await page.getByText(/From 127\.0\.0\.1 \(cell 4\): configuration_digest: .* \(422\)/).waitFor();
    await page.getByText("Configuration files (contested)").waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Names that two computers register" }).waitFor();
    expect(complaints).toEqual([]);
  });

  it("name with markup or characters of paths → shown as text, its link works", async () => {
    const names = ["<img src=x onerror=alert(1)>", "a/b?c#d", "..", "Zoë 🤖"];
    for (const name of names) await register(name, "acme.odd.v1");
    const { page, complaints } = await openRobots(demo(), "?type=acme.odd.v1");
    for (const name of names) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
      await page.getByText("First registration on record").waitFor();
      await page.goBack();
    }
    expect(complaints).toEqual([]);
  });

  it("changed in the last day, as CSV → a line for each, harmless to spreadsheets", async () => {
    await register("-csv", "acme.csv.v1", { site: "=1+1" });
    const { page } = await openRobots(demo(), "?type=acme.csv.v1");
    await page.getByLabel("Changed").selectOption("last_1_day");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("robots.csv");
    const lines = (await readFile(await download.path(), "utf8")).split("\r\n");
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^"'-csv",not monitored,,"'=1\+1",acme\.csv\.v1,/);
  });

  it("two fleets with two models → said on the robot's page, with links; rename → its page under the new name", async () => {
    await register("shared-1", YAM_TYPE);
    const models = (await (await demo().service.send("GET", "/v1/models")).json()) as { models: { slug: string }[] };
    const [first = "", second = ""] = models.models.map(({ slug }) => slug);
    for (const subject of [first, second]) {
      const selection = { robots: ["shared-1"] };
      const fleet = {
        name: `on ${subject}`,
        subject,
        selection,
        peak_active_robots: 1,
        readiness_mode: "always_ready",
      };
      expect((await demo().service.send("POST", "/v1/fleets", fleet)).status).toBe(200);
    }
    const { page } = await openRobots(demo(), "?q=shared-1");
    await page.getByRole("link", { name: "shared-1" }).click();
    await page.getByText("Its fleets have different models.").waitFor();
    await page.getByRole("link", { name: `on ${first} (${first})` }).waitFor();
    await page.getByRole("button", { name: "Rename" }).click();
    await page
      .getByRole("dialog")
      .getByText(/registers under the old name until/)
      .waitFor();
    await page.getByLabel("New name").fill("shared-2");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "shared-2" }).waitFor();
    await page.getByRole("link", { name: `on ${first} (${first})` }).click();
    await page.getByRole("heading", { level: 1, name: `on ${first}` }).waitFor();
  });

  it("remove → once the name is typed as the page shows it", async () => {
    for (const name of [" two  blanks ", "yam\u200b"]) await register(name, "acme.gone.v1");
    const { page } = await openRobots(demo(), "?type=acme.gone.v1");
    for (const name of ["two blanks", "yam\\u200b"]) {
      await page.getByRole("link", { name }).click();
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByLabel(`Type ${name} to confirm`).fill(name);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: /^Robots/ }).waitFor();
      await page.goto(`${demo().service.url}/robots?type=acme.gone.v1`);
    }
    await page.getByRole("heading", { name: "No robot matches" }).waitFor();
  });

  it("name with invisible characters → visible in the row, the filter and the title of its page", async () => {
    await register("yam-0001\u200b", YAM_TYPE, { site: "hall\u202e3" });
    const { page } = await openRobots(demo(), `?site=${encodeURIComponent("hall\u202e3")}`);
    expect(await page.getByRole("rowheader").allTextContents()).toEqual(["yam-0001\\u200b"]);
    expect(await page.getByLabel("Site").locator("option:checked").textContent()).toBe("hall\\u202e3 (1)");
    await page.getByLabel("Search robots").fill("yam-0001\\u200b");
    await page.getByText(/^1 of \d+ robots$/).waitFor();
    await page.getByRole("link", { name: "yam-0001" }).click();
    await page.getByRole("heading", { level: 1, name: "yam-0001\\u200b" }).waitFor();
    expect(await page.title()).toBe("yam-0001\\u200b · Robot policy");
    expect(await page.content()).not.toMatch(/[\u200b\u202e]/);
  });
});

const startLarge = () => startDemo({ robots: 1000, fleets: 0 });

describeConsole("1000 robots", startLarge, (demo) => {
  it("list → renders all rows, for the browser's search and screen readers, without a layout shift", async () => {
    const { page, complaints } = await openRobots(demo());
    expect(await page.locator("tbody tr").count()).toBe(1000);
    expect(await page.getByRole("table", { name: "Robots" }).getAttribute("aria-rowcount")).toBe("1001");
    const shift = await page.evaluate(`new Promise((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; })
      .observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
  })`);
    expect(shift).toBeLessThan(SHIFT);
    await page.keyboard.press("End");
    await expect.poll(() => page.evaluate("scrollY")).toBeGreaterThan(10_000);
    expect(complaints).toEqual([]);
  });

  it("sign-in, list and search → within the limits of transfer and CPU time", async () => {
    const { page } = await openWindow();
    const receivedBytes = countReceived(page);
    await page.goto(demo().service.url);
    await page.getByLabel("API key").waitFor();
    expect(await receivedBytes()).toBeLessThan(TRANSFER_BYTES);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const busyS = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
    };
    const beforeS = await busyS();
    await signIn(page, demo().service, "/robots");
    await page.locator("tbody tr").first().waitFor();
    // No row matches: ids have no "u", and digests are hexadecimal.
    await page.getByLabel("Search robots").pressSequentially("uuuu");
    await page.getByText("0 of 1,000 robots").waitFor();
    expect((await busyS()) - beforeS).toBeLessThan(atPresentSpeed(INTERACTIVE_S));
  });
});

async function openRobots({ service }: DemoService, query = ""): Promise<Window> {
  const window = await borrowWindow();
  await signIn(window.page, service, `/robots${query}`);
  await window.page.locator("tbody tr").first().waitFor();
  return window;
}
