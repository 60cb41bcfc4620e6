import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Page } from "playwright-core";

/** The minified script is half as long, and every page parses it again. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/**
 * What axe-core finds against WCAG and best practices: one line for each violation, with its first element.
 *
 * @param within selector of the part of the page to check.
 */
export async function violations(page: Page, within = "html"): Promise<readonly string[]> {
  // Through the debugger: the page's content security policy blocks other scripts.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  return page.evaluate(
    `axe.run(${JSON.stringify(within)}, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes[0].html))`,
  );
}

/** The same in the open dialog. accessibility.test.ts checks the pages. */
export function violationsInDialog(page: Page): Promise<readonly string[]> {
  return violations(page, "dialog[open]");
}
