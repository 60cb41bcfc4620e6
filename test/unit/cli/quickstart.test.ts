import { join } from "node:path";

import { expect, test } from "vitest";

import { startWords } from "../../support/command.ts";

const SCRIPT = join(import.meta.dirname, "../../../scripts/quickstart.ts");

test.each([
  ["--help", 0, /^Usage: scripts\/quickstart \[--once\]/],
  ["--onse", 2, /^error: Unknown option '--onse'/],
])("quickstart %s: exits with %i, says what there is, and starts nothing", async (word, exit_code, told) => {
  await using program = startWords([process.execPath, SCRIPT, word]);
  expect(await program.ended()).toBe(exit_code);
  expect(program.output()).toMatch(told);
  expect(program.output()).toContain("--once  end then");
  expect(program.output()).not.toMatch(/\n\s+at /);
});
