import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import type { FleetView } from "../../../src/api/fleets.ts";
import { BROWSER_NEEDED, signIn, startBrowser, WITHOUT_BROWSER } from "../../support/browser.ts";
import type { TestBrowser, Window } from "../../support/browser.ts";
import { startDemo } from "../../support/demo-service.ts";
import type { DemoService } from "../../support/demo-service.ts";
import { violations } from "./axe.ts";

const DESK = { viewport: { width: 1280, height: 800 }, colorScheme: "light" } as const;
const DESK_AT_NIGHT = { ...DESK, colorScheme: "dark" } as const;
const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: "dark", isMobile: true, hasTouch: true } as const;
const WALL = { viewport: { width: 2560, height: 1440 }, colorScheme: "dark" } as const;

/** Path, or how to find it, and the heading that the page has. */
const PAGES: readonly (readonly [page: string, heading: RegExp])[] = [
  ["/", /^Overview/],
  ["/robots", /^Robots/],
  ["/robots?q=no+such+robot", /^Robots/],
  ["/robots/cell-0003", /^cell-0003/],
  ["/robots/nobody", /^nobody/],
  ["/fleets", /^Fleets/],
  ["/fleets/new", /^New fleet/],
  ["a fleet that is blocked", /^Aloha cells/],
  ["a fleet with windows", /^Night shift/],
  ["/models", /^Models/],
  ["/models/pi0.5", /^π0\.5/],
  ["/models/none", /^none/],
  ["/deployments", /^Deployments/],
  ["/deployments?show=retired", /^Deployments/],
  ["/deployments/none", /^Deployment/],
  ["/keys", /^Keys/],
  ["/usage", /^Usage/],
  ["/audit", /^Audit/],
  ["/usage?by=model&days=365", /^Usage/],
  ["/nowhere/robots", /^No such page/],
];

/** The machine may be busy with other tests. */
const PATIENCE = { timeout: 15_000 } as const;

describe.skipIf(WITHOUT_BROWSER)(`the console, as axe-core sees it${BROWSER_NEEDED}`, () => {
  let browser: TestBrowser;
  let demo: DemoService;
  beforeAll(async () => {
    browser = await startBrowser();
    demo = await startDemo({ robots: 120, fleets: 12 });
  });
  afterAll(async () => {
    await demo?.[Symbol.asyncDispose]();
    await browser?.[Symbol.asyncDispose]();
  });

  describe.each([
    ["a desk by day", DESK],
    ["a desk by night", DESK_AT_NIGHT],
    ["a phone", PHONE],
    ["a wall display", WALL],
  ])("on %s", (_display, options) => {
    let window: Window;
    beforeAll(async () => {
      window = await browser.open(options);
      await signIn(window.page, demo.service);
    });
    afterAll(() => window?.[Symbol.asyncDispose]());

    it("the way in has no violation", async () => {
      const { page, complaints, ...window } = await browser.open(options);
      onTestFinished(() => window[Symbol.asyncDispose]());
      await page.goto(demo.service.url);
      await page.getByLabel("API key").waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it.each(PAGES)(
      "%s has no violation, scrolls to no side, and breaks no policy of its own",
      async (where, heading) => {
        const { page, complaints } = window;
        await page.goto(demo.service.url + (await pathOf(where)));
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
        await page.locator('[aria-busy="true"], .skeleton').first().waitFor({ state: "detached" });
        expect(await violations(page)).toEqual([]);
        // Zoomed to 400 % a desk is as narrow (WCAG 2.2, 1.4.10).
        await page.setViewportSize({ ...options.viewport, width: 320 });
        await expect.poll(() => page.evaluate("document.documentElement.scrollWidth"), PATIENCE).toBe(320);
        await page.setViewportSize(options.viewport);
        expect(complaints).toEqual([]);
      },
    );
  });

  async function pathOf(where: string): Promise<string> {
    if (where.startsWith("/nowhere")) return "/robot";
    if (where.startsWith("/")) return where;
    const fleets = (await (await demo.service.send("GET", "/v1/fleets")).json()) as FleetView[];
    const start = where === "a fleet with windows" ? "Night shift" : "Aloha cells";
    return `/fleets/${fleets.find(({ name }) => name.startsWith(start))!.id}`;
  }
});
