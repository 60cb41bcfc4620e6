/** @module-tag needs/browser */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";

import type { FleetView } from "../../../../src/api/fleets.ts";
import {
  borrowWindow,
  describeConsole,
  openLastingWindow,
  signIn,
  tellOnFailure,
  type Window,
} from "../../../support/browser.ts";
import { isLong, times } from "../../../support/run/tier.ts";
import { type DemoService, startDemo } from "../../../support/service/demo-service.ts";
import { RobotComputer } from "../../../support/service/robot-computer.ts";
import { violations } from "./axe.ts";

const DESK = { viewport: { width: 1280, height: 800 }, colorScheme: "light" } as const;
const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: "dark", isMobile: true, hasTouch: true } as const;
/** Width of a desk display zoomed to 400 % (WCAG 2.2, 1.4.10). */
const NARROW_PIXELS = 320;

/** A path, or what `pathOf` maps to one, and the heading of the page. */
type PageCase = readonly [page: string, heading: RegExp];

const FULL_PAGES: readonly PageCase[] = [
  ["/", /^Overview/],
  ["/robots", /^Robots/],
  ["/robots/cell-0003", /^cell-0003/],
  ["/fleets", /^Fleets/],
  ["blocked fleet", /^Aloha cells/],
  ["fleet with windows", /^Night shift/],
  ["/models", /^Models/],
  ["/models/pi0.5", /^π0\.5/],
  ["/deployments", /^Deployments/],
  ["/enrolments", /^Enrolments/],
  ["/keys", /^Keys/],
  ["/webhooks", /^Webhooks/],
  ["/usage", /^Usage/],
  ["/audit", /^Audit/],
  [`/usage?by=model&time=${times(90, 365)}`, /^Usage/],
];
/** Pages that look the same on every display. */
const EMPTY_PAGES: readonly PageCase[] = [
  ["/robots?q=no+such+robot", /^Robots/],
  ["/robots/nobody", /^nobody/],
  ["/models/none", /^none/],
  ["/deployments?show=retired", /^Deployments/],
  ["/deployments?open=none", /^Deployments/],
  ["/nowhere/robots", /^No such page/],
];
const PAGES = [...FULL_PAGES, ...EMPTY_PAGES];

/** A demo with a webhook, and with a computer that waits for approval. */
async function startFull(): Promise<DemoService> {
  const demo = await startDemo({ robots: 20, fleets: 12 });
  const webhook = { url: "https://receiver.invalid/hook", events: ["robot.frozen"] };
  const made = await demo.service.send("POST", "/v1/webhooks", webhook);
  expect(made.status).toBe(200);
  await new RobotComputer(() => demo.service.url).start();
  return demo;
}

describeConsole("accessibility", startFull, (demo) => {
  describe.each([
    ["desk", DESK, PAGES],
    ["phone", PHONE, isLong ? PAGES : FULL_PAGES],
  ])("%s", (_display, options, pages) => {
    let window: Window;
    beforeAll(async () => {
      window = await openLastingWindow(options);
      await signIn(window.page, demo().service);
    });
    afterAll(() => window?.[Symbol.asyncDispose]());

    it("sign-in page → no violation", async () => {
      const { page, complaints } = window;
      tellOnFailure(window);
      const before = complaints.length;
      onTestFinished(() => signIn(page, demo().service));
      await page.context().clearCookies();
      await page.goto(demo().service.url);
      await page.getByLabel("API key").waitFor();
      await expectNoViolation(page, options);
      expect(complaints.slice(before)).toEqual([]);
    });

    it.each(pages)("%s → no violation, no horizontal scrolling at 320 pixels, no errors", async (where, heading) => {
      const { page, complaints } = window;
      tellOnFailure(window);
      const before = complaints.length;
      await page.setViewportSize(options.viewport);
      await show(page, await pathOf(where));
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      await expectNoViolation(page, options);
      await page.setViewportSize({ ...options.viewport, width: NARROW_PIXELS });
      await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBe(NARROW_PIXELS);
      expect(complaints.slice(before)).toEqual([]);
    });
  });

  // A table wider than the page loses its last columns. Each width is the narrowest of a layout.
  it.each(["/robots", "/fleets", "/models", "/deployments", "/enrolments", "/keys", "/webhooks", "/usage", "/audit"])(
    "%s → all columns fit into the page",
    async (where) => {
      const { page } = await borrowWindow();
      await signIn(page, demo().service, await pathOf(where));
      await page.locator(".table").waitFor();
      for (const width of [700, 900, 1100, 1400]) {
        await page.setViewportSize({ width, height: 800 });
        const excessPixels = () =>
          page.evaluate<number>(
            "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table tr'))",
          );
        await expect.poll(excessPixels).toBe(0);
      }
    },
  );

  it.each(["/robots", "/fleets", "/deployments", "/keys", "/webhooks", "/audit"])(
    "%s at 1280 pixels → no date is cut",
    async (where) => {
      const { page } = await borrowWindow();
      await signIn(page, demo().service, await pathOf(where));
      await page.locator(".table").waitFor();
      await page.setViewportSize({ width: 1280, height: 800 });
      // The longest date that there is, in place of each time.
      const cut = await page.evaluate<readonly string[]>(
        `[...document.querySelectorAll('.table td time')].flatMap((time) => {
          time.textContent = "28 Sept 2026";
          const cell = time.closest("td");
          return cell.scrollWidth > cell.clientWidth ? [cell.dataset.name] : [];
        })`,
      );
      expect(new Set(cut)).toEqual(new Set());
    },
  );

  it("audit at 1280 pixels → no event is cut", async () => {
    const { page } = await borrowWindow();
    await signIn(page, demo().service, "/audit");
    const event = page.getByRole("cell", { name: /changed the model of the fleet/ }).first();
    await event.waitFor();
    const { scrollWidth, clientWidth } = await event.evaluate(({ scrollWidth, clientWidth }) => ({
      scrollWidth,
      clientWidth,
    }));
    expect(scrollWidth).toBe(clientWidth);
  });

  async function pathOf(where: string): Promise<string> {
    if (where.startsWith("/nowhere")) return "/robot";
    if (where.startsWith("/")) return where;
    const fleets = (await (await demo().service.send("GET", "/v1/fleets")).json()) as FleetView[];
    const start = where === "fleet with windows" ? "Night shift" : "Aloha cells";
    return `/fleets/${fleets.find(({ name }) => name.startsWith(start))!.id}`;
  }
});

/** Opens a page without a reload, as links of the console do, and waits until it is rendered. */
async function show(page: Page, path: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    history.pushState(null, "", ${JSON.stringify(path)});
    dispatchEvent(new PopStateEvent("popstate"));
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  })`);
}

/** Checks the display's own theme; the long tier checks both. */
async function expectNoViolation(
  page: Page,
  { colorScheme }: { readonly colorScheme: "light" | "dark" },
): Promise<void> {
  expect(await violations(page)).toEqual([]);
  if (!isLong) return;
  await page.emulateMedia({ colorScheme: colorScheme === "dark" ? "light" : "dark" });
  expect(await violations(page)).toEqual([]);
  await page.emulateMedia({ colorScheme });
}
