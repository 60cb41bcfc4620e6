import axe from "axe-core";
import type { Page } from "playwright-core";

/** What axe-core finds wrong with the page as it is, WCAG and best practices: one line each, with the first element of each. */
export async function violations(page: Page): Promise<readonly string[]> {
  // As a debugger does it: the page's own policy lets no such script in.
  await page.evaluate(axe.source);
  return page.evaluate(
    `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes[0].html))`,
  );
}
