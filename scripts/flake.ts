/**
 * Looks for tests that fail by chance: runs them again and again in random order, beside programs that take the processor and sync the
 * disk, while they themselves are stopped and continued at random.
 *
 *   scripts/flake --runs 20 test/unit/agent       a failure is printed with its seed; exits 1 when there was one
 */
import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { endWithScript, scratchFolder } from "./end-of-script.ts";

const HELP = `Usage: scripts/flake [TEST FILE or FOLDER …] [options]

  --changed [REV]   the test files that differ from REV (default: main)
  --all             every test
  --runs N          default 5
  --minutes N       begin no further run after so long
  --seed N          order of the first run; each further run takes the next (default: from the clock)
  --quiet           without the stress, only the order is random

Examples:
  scripts/flake --runs 20 test/integration/agent
  scripts/flake --changed --minutes 2
  scripts/flake --runs 1 --seed 1234 test/unit/agent/lock.test.ts      a failure again
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    changed: { type: "boolean", default: false },
    all: { type: "boolean", default: false },
    runs: { type: "string", default: "5" },
    minutes: { type: "string" },
    seed: { type: "string" },
    quiet: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const root = resolve(import.meta.dirname, "..");

/** Programs beside the tests: two that never rest, and one that syncs the disk. */
const STRESS = ["for (;;);", "for (;;);", "setInterval(() => require('child_process').spawnSync('sync'), 300)"];
/** The tests run for a share of the time, in stretches of random length: about 30 %. */
const STRETCH_MS = { running: 150, stopped: 350 };

interface Failure {
  readonly test: string;
  readonly seed: number;
  readonly message: string;
}

async function main(): Promise<number> {
  const tests = values.changed ? changedTests(positionals[0] ?? "main") : positionals;
  if (values.help || (tests.length === 0 && !values.all && !values.changed)) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  if (tests.length === 0 && values.changed) {
    console.log("No test file changed.");
    return 0;
  }
  const firstSeed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);
  const endsAtMs = values.minutes === undefined ? Infinity : performance.now() + Number(values.minutes) * 60_000;
  const failures: Failure[] = [];
  let runs = 0;
  if (!values.quiet) startStress();
  for (; runs < Number(values.runs) && performance.now() < endsAtMs; runs += 1) {
    const found = await runOnce(tests, firstSeed + runs);
    for (const { test, seed, message } of found) console.log(`seed ${seed}: ${test}\n  ${message}`);
    failures.push(...found);
  }
  for (const [test, times] of Map.groupBy(failures, (failure) => failure.test)) {
    console.log(`${times.length} of ${runs} runs: ${test} (seeds ${times.map(({ seed }) => seed).join(", ")})`);
  }
  console.log(`${runs} runs, ${failures.length} failures`);
  return failures.length === 0 ? 0 : 1;
}

/** @returns the failures of one run of the tests, in the order of `seed`. */
async function runOnce(tests: readonly string[], seed: number): Promise<readonly Failure[]> {
  const report = join(scratchFolder("flake-"), "report.json");
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--reporter=json", `--outputFile=${report}`];
  const order = ["--sequence.shuffle.files", "--sequence.shuffle.tests", `--sequence.seed=${seed}`];
  // A group of its own, to be stopped and continued with the programs that tests start.
  const child = spawn(process.execPath, [...vitest, ...order, ...tests], {
    cwd: root,
    detached: true,
    stdio: "ignore",
  });
  endWithScript(child);
  const pausing = new AbortController();
  if (!values.quiet) void pauseAtRandom(child, pausing.signal);
  const [exitCode] = await once(child, "exit");
  pausing.abort();
  if (existsSync(report)) return readFailures(report, seed);
  return [{ test: "vitest", seed, message: `ended with ${exitCode} and without a report` }];
}

async function pauseAtRandom(child: ChildProcess, signal: AbortSignal): Promise<void> {
  const sleep = (meanMs: number) => new Promise((wake) => setTimeout(wake, 2 * meanMs * Math.random()));
  while (!signal.aborted) {
    await sleep(STRETCH_MS.running);
    signalGroup(child, "SIGSTOP");
    await sleep(STRETCH_MS.stopped);
    signalGroup(child, "SIGCONT");
  }
}

function signalGroup({ pid, exitCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It ended meanwhile.
  }
}

function readFailures(report: string, seed: number): readonly Failure[] {
  interface Report {
    readonly testResults: readonly {
      readonly name: string;
      readonly status: string;
      readonly message: string;
      readonly assertionResults: readonly {
        readonly fullName: string;
        readonly status: string;
        readonly failureMessages: readonly string[];
      }[];
    }[];
  }
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = name.slice(root.length + 1);
    const failed = assertionResults.filter((result) => result.status === "failed");
    // A file that fails before its first test.
    if (failed.length === 0 && status === "failed") return [{ test: file, seed, message: firstLine(message) }];
    return failed.map(({ fullName, failureMessages }) => ({
      test: `${file}: ${fullName}`,
      seed,
      message: firstLine(failureMessages.join("\n")),
    }));
  });
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}

function startStress(): void {
  for (const code of STRESS) endWithScript(spawn(process.execPath, ["-e", code], { stdio: "ignore" }));
}

function changedTests(revision: string): readonly string[] {
  const names = execFileSync("git", ["diff", "--name-only", "--diff-filter=AM", revision, "--", "test"], { cwd: root });
  return String(names)
    .split("\n")
    .filter((name) => name.endsWith(".test.ts"));
}

// The stress ends with the script.
process.exit(await main());
