/** Runs tests repeatedly in random order, and counts the failures of each. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

import * as z from "zod";

import { endWithScript, scratchFolder } from "../support/end-of-script.ts";
import { readFlagsAndNames, wholeNumber } from "../support/flags.ts";

const HELP = `Usage: scripts/lab/flake [--runs N] [--busy] [TEST FILE or FOLDER …]

Runs tests in random order and counts the failures of each. Exits 1 if there were any.

  --runs N  number of runs, each in another order (default: 5)
  --busy    beside two busy loops

Examples:
  scripts/lab/flake --runs 20 --busy test/integration/agent
  scripts/lab/flake $(git diff --name-only --diff-filter=AM main -- '*.test.ts')
`;

/** The used part of the report. `name` is the path of a test file. */
const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

const root = resolve(import.meta.dirname, "../..");
const { values, positionals: tests } = readFlagsAndNames(HELP, {
  runs: { type: "string", default: "5" },
  busy: { type: "boolean", default: false },
});
const runs = wholeNumber(HELP, "runs", values.runs);
const firstSeed = Date.now() % 1_000_000;

if (values.busy) for (let loop = 0; loop < 2; loop += 1) endWithScript(spawn(process.execPath, ["-e", "for (;;);"]));
const seedsByTest = new Map<string, number[]>();
for (let seed = firstSeed; seed < firstSeed + runs; seed += 1) {
  for (const test of await failuresOf(seed)) seedsByTest.set(test, [...(seedsByTest.get(test) ?? []), seed]);
}
for (const [test, seeds] of seedsByTest) console.log(`${seeds.length} of ${runs} runs: ${test} (${seeds.join(", ")})`);
console.log(`${runs} runs, ${seedsByTest.size} tests failed`);
// Also ends the busy loops.
process.exit(seedsByTest.size === 0 ? 0 : 1);

/** @returns the tests that fail in the order of this seed. */
async function failuresOf(seed: number): Promise<readonly string[]> {
  const order = ["--sequence.shuffle", `--sequence.seed=${seed}`];
  console.log(`$ vitest run ${[...order, ...tests].join(" ")}`);
  const report = join(scratchFolder("flake-"), "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const args = ["node_modules/vitest/vitest.mjs", "run", ...order, ...reporters, ...tests];
  const child = spawn(process.execPath, args, { cwd: root, stdio: "inherit" });
  endWithScript(child);
  const [exitCode] = await once(child, "exit");
  const { testResults } = existsSync(report)
    ? reportSchema.parse(JSON.parse(readFileSync(report, "utf8")))
    : { testResults: [] };
  const failures = testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, assertionResults }) => {
      const file = relative(root, name);
      const failed = assertionResults.filter(({ status }) => status === "failed");
      // A file can also fail before its first test.
      return failed.length === 0 ? [file] : failed.map(({ fullName }) => `${file}: ${fullName}`);
    });
  return exitCode !== 0 && failures.length === 0 ? [`vitest, which ended with ${exitCode}`] : failures;
}
