import type { Page } from "playwright-core";

/** Replaces the clock of the page, and hides the service's clock by removing the Date header. Use a window of the test's own. */
export async function takeClock(page: Page): Promise<void> {
  await page.clock.install();
  for (const path of ["**/v1/**", "**/console/versions"]) {
    await page.route(path, async (route) => {
      const response = await route.fetch();
      const { date: _date, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });
  }
}

/** Pauses the clock of the page, this much later than now. */
export async function pauseClock(page: Page, laterMs: number): Promise<void> {
  const pause = async () => page.clock.pauseAt((await page.evaluate<number>("Date.now()")) + laterMs);
  // On a busy machine that time may be past when the clock is paused, and the call fails; the clock stands still then.
  await pause().catch(pause);
}

/**
 * Advances the clock past the expiry, the last time in the page's list of facts.
 *
 * @param before checks the page one second before the expiry.
 */
export async function passExpiry(page: Page, before: () => Promise<void>): Promise<void> {
  const at = await page.locator("dd time").last().getAttribute("datetime");
  await page.clock.pauseAt(Date.parse(at ?? "") - 1000);
  await before();
  await page.clock.runFor(1100);
  // The page looks at its clock every ten seconds, and when it is seen again.
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
}
