import { join } from "node:path";

import { expect, it } from "vitest";

import { startWords } from "../../../support/programs/command.ts";

const SCRIPT = join(import.meta.dirname, "../../../../scripts/demo-data.ts");

it.each([
  [["--help"], 0, /^Usage: /],
  [["--bogus"], 2, /^error: Unknown option '--bogus'[^]*\nUsage: /],
  [["--port", "many"], 2, /^error: --port 'many' is no number from 0 to 65535\n\nUsage: /],
  [["--robots", "10001"], 2, /^error: --robots '10001' is no number from 0 to 10000\n\nUsage: /],
])("demo-data: %j → exit code %i and usage, no stack trace", async (args, exitCode, output) => {
  await using script = startWords([process.execPath, SCRIPT, ...args]);
  expect(await script.ended()).toBe(exitCode);
  expect(script.output()).toMatch(output);
  expect(script.output()).not.toContain("    at ");
});
