/**
 * scripts/support/flags.ts, in scripts that would otherwise run for minutes.
 *
 * @module-tag needs/night
 */
import { join } from "node:path";

import { test } from "vitest";

import { startWords } from "../../support/programs/command.ts";

const SCRIPTS = join(import.meta.dirname, "../../../scripts");

test.concurrent.for<[script: string, args: readonly string[], exitCode: number, output: RegExp]>([
  ["quickstart.ts", ["--help"], 0, /^Usage: scripts\/quickstart \[--once\]\n/],
  ["quickstart.ts", ["--onse"], 2, /^error: Unknown option '--onse'[^]*\n\nUsage: /],
  ["quickstart.ts", ["now"], 2, /^error: Unexpected argument 'now'[^]*\n\nUsage: /],
  ["demo-data.ts", ["--port", "many"], 2, /^error: --port 'many' is no number from 0 to 65535\n\nUsage: /],
  ["demo-data.ts", ["--robots", "10001"], 2, /^error: --robots '10001' is no number from 0 to 10000\n\nUsage: /],
  [
    "lab/load/fleet-load.ts",
    ["--store", "paper"],
    2,
    /^error: --store 'paper' is none of sqlite, postgres, both\n\nUsage: /,
  ],
  // Each would otherwise do nothing, and find no failure.
  ["lab/flake.ts", ["--runs", "ten", "test/unit/platform/clock.test.ts"], 2, /^error: --runs 'ten' is no number/],
  ["lab/simulate.ts", ["--seeds", "-1"], 2, /^error: .*'--seeds'/],
  ["lab/simulate.ts", ["--world", "--plant", "none"], 2, /^error: --plant 'none' is no mistake\n\nUsage: /],
  ["lab/load/siege.ts", ["--only", "99"], 2, /^error: --only '99' is no attack\n\nUsage: /],
])("%s %j → exit code %i, and the usage", async ([script, args, exitCode, output], { expect }) => {
  await using program = startWords([process.execPath, join(SCRIPTS, script), ...args]);
  expect(await program.ended()).toBe(exitCode);
  expect(program.output()).toMatch(output);
  expect(program.output()).not.toContain("    at ");
});
