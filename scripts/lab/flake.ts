/**
 * Finds tests that fail by chance: runs them repeatedly in random order, beside programs that use the processors and sync the disk, while the
 * tests themselves are stopped and continued at random.
 *
 *   scripts/lab/flake --runs 20 test/unit/agent       a failure is printed with its seed; exits 1 when there was one
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, copyFileSync, existsSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { endWithScript, scratchFolder } from "../support/end-of-script.ts";
import { optionalNumber, readFlagsAndNames, refuseFlags, wholeNumber } from "../support/flags.ts";

const HELP = `Usage: scripts/lab/flake [TEST FILE or FOLDER …] [options]

  --changed [REV]   the test files that differ from REV (default: main)
  --all             every test
  --runs N          default 5
  --minutes N       instead of runs: one file after the other, again and again, until the time is up
  --seed N          order of the first run; each further run takes the next (default: from the clock)
  --quiet           without the stress, only the order is random

Examples:
  scripts/lab/flake --runs 20 test/integration/agent
  scripts/lab/flake --changed main --minutes 2
  scripts/lab/flake --runs 1 --seed 1234 test/unit/agent/lock.test.ts      a failure again
`;

const { values, positionals } = readFlagsAndNames(HELP, {
  changed: { type: "boolean", default: false },
  all: { type: "boolean", default: false },
  runs: { type: "string", default: "5" },
  minutes: { type: "string" },
  seed: { type: "string" },
  quiet: { type: "boolean", default: false },
});
const runs = wholeNumber(HELP, "runs", values.runs);
const minutes = optionalNumber(HELP, "minutes", values.minutes);
const givenSeed = optionalNumber(HELP, "seed", values.seed);

const root = resolve(import.meta.dirname, "../..");

/** Programs that run beside the tests: two busy loops, and one that syncs the disk. */
const STRESS = ["for (;;);", "for (;;);", "setInterval(() => require('child_process').spawnSync('sync'), 300)"];
/** The tests run for a share of the time, in stretches of random length: about 30 %. Their waits are longer by the same factor. */
const STRETCH_MS = { running: 150, stopped: 350 };
const SLOWNESS = values.quiet ? 1 : (STRETCH_MS.running + STRETCH_MS.stopped) / STRETCH_MS.running;

/** Number of test files that run together, and their time limit. */
interface Turn {
  readonly tests: readonly string[];
  readonly endsAtMs: number;
}

interface Failure {
  readonly test: string;
  readonly seed: number;
  readonly message: string;
}

async function main(): Promise<number> {
  const tests = values.changed ? changedTests(positionals[0] ?? "main") : testsIn(values.all ? ["test"] : positionals);
  if (tests.length === 0 && !values.all && !values.changed) refuseFlags(HELP, "no test is named");
  if (tests.length === 0 && values.changed) {
    console.log("No test file changed.");
    return 0;
  }
  const firstSeed = givenSeed ?? Date.now() % 1_000_000;
  const failures: Failure[] = [];
  let done = 0;
  if (!values.quiet) startStress();
  for (const turn of minutes === null ? wholeRuns(tests) : singleFiles(tests, minutes)) {
    const found = await runOnce(turn.tests, firstSeed + done, turn.endsAtMs);
    for (const { test, seed, message } of found) console.log(`seed ${seed}: ${test}\n  ${message}`);
    failures.push(...found);
    done += 1;
  }
  for (const [test, times] of Map.groupBy(failures, (failure) => failure.test)) {
    console.log(`${times.length} of ${done} runs: ${test} (seeds ${times.map(({ seed }) => seed).join(", ")})`);
  }
  console.log(`${done} runs, ${failures.length} failures`);
  return failures.length === 0 ? 0 : 1;
}

function* wholeRuns(tests: readonly string[]): Generator<Turn> {
  for (let run = 0; run < runs; run += 1) yield { tests, endsAtMs: Infinity };
}

/** Runs every file once before any is repeated, until the time is up. */
function* singleFiles(tests: readonly string[], minutes: number): Generator<Turn> {
  const endsAtMs = performance.now() + minutes * 60_000;
  for (;;) {
    for (const test of inRandomOrder(tests)) {
      if (performance.now() > endsAtMs) return;
      yield { tests: [test], endsAtMs };
    }
  }
}

function inRandomOrder(tests: readonly string[]): readonly string[] {
  const drawn = tests.map((test) => ({ test, order: Math.random() }));
  return drawn.toSorted((one, other) => one.order - other.order).map(({ test }) => test);
}

/** @returns the failures of one run in the order of `seed`; none when the time limit ended it. */
async function runOnce(tests: readonly string[], seed: number, endsAtMs: number): Promise<readonly Failure[]> {
  const folder = scratchFolder("flake-");
  const [report, log] = [join(folder, "report.json"), join(folder, "log")];
  const reporters = ["--reporter=json", `--outputFile=${report}`, "--reporter=default", "--silent=passed-only"];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...reporters];
  const order = ["--sequence.shuffle.files", "--sequence.shuffle.tests", `--sequence.seed=${seed}`];
  const output = openSync(log, "w");
  // Its own process group, so that programs started by tests are stopped and continued too.
  const child = spawn(process.execPath, [...vitest, ...order, ...tests], {
    cwd: root,
    env: { ...process.env, ROBOT_POLICY_TEST_SLOWNESS: String(SLOWNESS) },
    detached: true,
    stdio: ["ignore", output, "inherit"],
  });
  closeSync(output);
  endWithScript(child, () => signalGroup(child, "SIGKILL"));
  const pausing = new AbortController();
  if (!values.quiet) void pauseAtRandom(child, pausing.signal);
  const ended = once(child, "exit");
  const isCutOff = await passesFirst(endsAtMs, ended);
  pausing.abort();
  if (isCutOff) signalGroup(child, "SIGKILL");
  const [exitCode] = await ended;
  if (isCutOff) return [];
  const isWhole = existsSync(report);
  const failures = isWhole
    ? readFailures(report, seed)
    : [{ test: "vitest", seed, message: `ended with ${exitCode ?? child.signalCode} and without a report` }];
  if (failures.length > 0) {
    const kept = join(tmpdir(), `flake-${seed}.log`);
    copyFileSync(log, kept);
    console.log(`seed ${seed}: ${failures.length} failures; what the tests and their programs printed: ${kept}`);
  }
  return failures;
}

/** Resolves to true at this monotonic time, or to false if the run ends before. */
async function passesFirst(momentMs: number, ended: Promise<unknown>): Promise<boolean> {
  if (momentMs === Infinity) return ended.then(() => false);
  const alarm = new AbortController();
  const late = sleep(Math.max(0, momentMs - performance.now()), true, { signal: alarm.signal, ref: false });
  late.catch(() => {});
  const isLate = await Promise.race([late, ended.then(() => false)]);
  alarm.abort();
  return isLate;
}

async function pauseAtRandom(child: ChildProcess, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(2 * STRETCH_MS.running * Math.random());
    signalGroup(child, "SIGSTOP");
    await sleep(2 * STRETCH_MS.stopped * Math.random());
    signalGroup(child, "SIGCONT");
  }
}

function signalGroup({ pid, exitCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined || exitCode !== null) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Ended meanwhile.
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
  return testsOf(["diff", "--name-only", "--diff-filter=AM", revision, "--", "test"]);
}

/** The test files of files and folders. */
function testsIn(paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? [] : testsOf(["ls-files", "--cached", "--others", "--exclude-standard", "--", ...paths]);
}

/** The test files among the names that git prints. */
function testsOf(args: readonly string[]): readonly string[] {
  const names = String(execFileSync("git", args, { cwd: root })).split("\n");
  return names.filter((name) => name.endsWith(".test.ts"));
}

// The stress ends with the script.
process.exit(await main());
