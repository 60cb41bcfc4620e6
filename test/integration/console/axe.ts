import axe from "axe-core";
import type { Page } from "playwright-core";

/** Rules of WCAG and best practices. Those of colours take nearly half of the time. */
const RULES = {
  all: {},
  colours: { runOnly: ["color-contrast"] },
  "all but colours": { rules: { "color-contrast": { enabled: false } } },
} as const;

/** What axe-core finds wrong with the page as it is: one line each, with the first element of each. */
export async function violations(page: Page, rules: keyof typeof RULES = "all"): Promise<readonly string[]> {
  // As a debugger does it: the page's own policy lets no such script in.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ["violations"], ...RULES[rules] });
  return page.evaluate(
    `axe.run(document, ${options}).then(({ violations }) =>
      violations.map(({ id, help, nodes }) => id + ": " + help + ": " + nodes[0].html))`,
  );
}
