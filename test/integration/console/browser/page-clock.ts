import type { Page } from "playwright-core";

/** Has the clock of the page stand for the service's, which its answers do not tell any more. For a window of the test's own. */
export async function takeClock(page: Page): Promise<void> {
  await page.clock.install();
  await page.route("**/v1/**", async (route) => {
    const response = await route.fetch();
    const { date: _date, ...headers } = response.headers();
    await route.fulfill({ response, headers });
  });
}

/**
 * Lets what the page shows expire, at the last of the times in its facts.
 *
 * @param before looks at the page a second earlier.
 */
export async function passExpiry(page: Page, before: () => Promise<void>): Promise<void> {
  const at = await page.locator("dd time").last().getAttribute("datetime");
  await page.clock.pauseAt(Date.parse(at ?? "") - 1000);
  await before();
  // Too short for the page to look at its clock by itself.
  await page.clock.runFor(1100);
}
