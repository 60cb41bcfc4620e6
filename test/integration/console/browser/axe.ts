import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Page } from "playwright-core";

/** Minified, because every page parses it again. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/**
 * Violations of WCAG and best practices that axe-core finds: one line each, with the first element.
 *
 * @param within selector of the checked part of the page.
 */
export async function violations(page: Page, within = "html"): Promise<readonly string[]> {
  // `evaluate` runs it through the debugger: the page's content security policy blocks other ways.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  return page.evaluate(
    `axe.run(${JSON.stringify(within)}, { resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes[0].html))`,
  );
}

/** Violations in the open dialog. accessibility.test.ts checks the pages. */
export function violationsInDialog(page: Page): Promise<readonly string[]> {
  return violations(page, "dialog[open]");
}
