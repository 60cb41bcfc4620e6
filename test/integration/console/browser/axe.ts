import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Page } from "playwright-core";

/** Half of what the package gives as its source, which every page parses anew. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/**
 * What axe-core finds wrong with the page as it is, by the rules of WCAG and best practices: one line each, with the first element of each.
 *
 * @param within selector of the part of the page that is looked at.
 */
export async function violations(page: Page, within = "html"): Promise<readonly string[]> {
  // As a debugger does it: the page's own policy lets no such script in.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  return page.evaluate(
    `axe.run(${JSON.stringify(within)}, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes[0].html))`,
  );
}

/** The same of the dialog that is open. The page behind it has a look of its own, in accessibility.test.ts. */
export function violationsInDialog(page: Page): Promise<readonly string[]> {
  return violations(page, "dialog[open]");
}
