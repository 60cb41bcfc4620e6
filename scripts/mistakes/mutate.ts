/**
 * Plants mistakes in source files, one at a time, runs the tests that import each file, and prints the mistakes that no test notices.
 *
 *   scripts/mutate src/agent/decide.ts src/client      files and folders; --changed for what differs from a revision
 *
 * It works in a copy of the checkout. Exits 1 when a mistake survives.
 */
import { execFile, execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

import type { TestSpecification } from "vitest/node";
import { createVitest } from "vitest/node";

import { memoryFolder } from "../../test/support/memory.ts";
import { scratchFolder } from "../support/end-of-script.ts";
import type { Mutation, MutationKind } from "./mutations.ts";
import { MUTATION_KINDS, mutationsOf } from "./mutations.ts";
import { nearestTests, readImports } from "./nearest-tests.ts";
import { TestRuns } from "./test-runs.ts";

const HELP = `Usage: scripts/mutate [FILE or FOLDER …] [options]

  --changed [REV]     the source files that differ from REV (default: main)
  --kind KIND         only this kind of mistake; may be repeated: ${MUTATION_KINDS.join(", ")}
  --sample N          at most N mistakes in all, chosen at random by --seed
  --seed N            default 1
  --minutes N         stop after so long, and say what is left
  --tests N           run at most the N test files that are nearest by imports (default 6)

Examples:
  scripts/mutate src/agent/decide.ts
  scripts/mutate --changed --minutes 10
  scripts/mutate src/service --kind dropped-organization
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    changed: { type: "boolean", default: false },
    kind: { type: "string", multiple: true },
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string" },
    tests: { type: "string", default: "6" },
    help: { type: "boolean", default: false },
  },
});

const root = resolve(import.meta.dirname, "../..");
/** The parts of the checkout that its tests need. */
const COPIED = [
  "src",
  "test",
  "config",
  "systemd",
  "scripts",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
  ".oxlintrc.json",
];
const COPIED_BESIDE = ["README.md", "CHANGELOG.md", "LICENSE"];
/** Ends tests that a mistake makes wait forever. */
const TEST_LIMIT_MS = 20_000;
interface Planted {
  readonly path: string;
  readonly mutation: Mutation;
}

/** `refused`: by the compiler or the linter, so no test has to find it. `untested`: no test that imports the file passes without the mistake. */
type Verdict = "refused" | "found" | "survived" | "untested";

async function main(): Promise<number> {
  if (values.help || (positionals.length === 0 && !values.changed)) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  const kinds =
    values.kind === undefined ? MUTATION_KINDS : MUTATION_KINDS.filter((kind) => values.kind?.includes(kind));
  if (kinds.length === 0) throw new Error(`No such kind; there are ${MUTATION_KINDS.join(", ")}`);
  const paths = values.changed ? changedFiles(positionals[0] ?? "main") : positionals.flatMap(sourceFiles);
  const planted = sample(paths.flatMap((path) => plantsIn(path, kinds)));
  const copy = copyCheckout();
  // A worker that hangs is killed and leaves its databases behind, so they get a folder that is removed with this script.
  process.env["ROBOT_POLICY_TEST_MEMORY"] = openMemory();
  return judgeAll(planted, copy);
}

function plantsIn(path: string, kinds: readonly MutationKind[]): readonly Planted[] {
  return mutationsOf(path, readFileSync(join(root, path), "utf8"), kinds).map((mutation) => ({ path, mutation }));
}

async function judgeAll(planted: readonly Planted[], copy: string): Promise<number> {
  const endsAtMs = values.minutes === undefined ? Infinity : performance.now() + Number(values.minutes) * 60_000;
  const importers = readImports(root);
  const vitest = await createVitest(
    "test",
    {
      root: copy,
      watch: false,
      bail: 1,
      testTimeout: TEST_LIMIT_MS,
      hookTimeout: TEST_LIMIT_MS,
      reporters: [{}],
      // A new worker for each mistake. Without the global setup, tests start the programs from their sources.
      isolate: true,
      globalSetup: [],
    },
    { logLevel: "silent" },
  );
  const verdicts: { readonly planted: Planted; readonly verdict: Verdict }[] = [];
  try {
    const all = await vitest.globTestSpecifications();
    const tests = new TestRuns(vitest);
    for (const each of planted) {
      if (performance.now() > endsAtMs) break;
      const near = nearestTests(root, each.path, importers, Number(values.tests)).map((test) => join(copy, test));
      const specifications = near.flatMap((test) => all.filter(({ moduleId }) => moduleId === test));
      const verdict = await judge(each, copy, tests, specifications);
      verdicts.push({ planted: each, verdict });
      if (verdict === "survived" || verdict === "untested") console.log(describe(each, verdict));
    }
  } finally {
    await vitest.close();
  }
  return summarize(verdicts, planted.length);
}

async function judge(
  { path, mutation: { start, end, replacement } }: Planted,
  copy: string,
  tests: TestRuns,
  specifications: readonly TestSpecification[],
): Promise<Verdict> {
  const file = join(copy, path);
  const source = readFileSync(file, "utf8");
  const planted = source.slice(0, start) + replacement + source.slice(end);
  let hasRun = false;
  // The nearest first, because most mistakes are found by the first file.
  for (const specification of specifications) {
    const isNoticed = await tests.notice(specification, file, { source, planted });
    if (isNoticed === true) return "found";
    if (isNoticed === false) hasRun = true;
  }
  writeFileSync(file, planted);
  const isRefused = (await isRefusedByTypes(path, copy)) || (await isRefusedByLinter(path, copy));
  writeFileSync(file, source);
  if (isRefused) return "refused";
  return hasRun ? "survived" : "untested";
}

const BROWSER = "src/console/browser";

/** Counts only errors in the file itself, because the checkout may have others. */
async function isRefusedByTypes(path: string, copy: string): Promise<boolean> {
  const project = path.startsWith(`${BROWSER}/`) ? BROWSER : ".";
  const { stdout } = await run("tsc", ["--pretty", "false", "--project", project], copy);
  return stdout.split("\n").some((line) => line.startsWith(`${path}(`));
}

/** A promise that nothing waits for, above all. */
async function isRefusedByLinter(path: string, copy: string): Promise<boolean> {
  return (await run("oxlint", ["--type-aware", path], copy)).isFailure;
}

function run(program: string, args: readonly string[], folder: string) {
  return new Promise<{ readonly isFailure: boolean; readonly stdout: string }>((done) => {
    execFile(join(root, "node_modules/.bin", program), args, { cwd: folder }, (error, stdout) =>
      done({ isFailure: error !== null, stdout }),
    );
  });
}

function describe({ path, mutation: { kind, start, end, replacement } }: Planted, verdict: Verdict): string {
  const source = readFileSync(join(root, path), "utf8");
  const line = source.slice(0, start).split("\n").length;
  const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").slice(0, 90);
  return `${verdict}: ${path}:${line} ${kind}: ${oneLine(source.slice(start, end))}  →  ${oneLine(replacement)}`;
}

/** Prints one line for each room (folder of src). @returns the exit code. */
function summarize(
  verdicts: readonly { readonly planted: Planted; readonly verdict: Verdict }[],
  plantedCount: number,
): number {
  const rooms = Map.groupBy(verdicts, ({ planted }) => planted.path.split("/").slice(0, 2).join("/"));
  for (const [room, inRoom] of [...rooms].toSorted()) {
    const count = (wanted: Verdict) => inRoom.filter(({ verdict }) => verdict === wanted).length;
    const allowed = inRoom.length - count("refused");
    const found = `${count("found")} of ${allowed} found (${Math.round((100 * count("found")) / Math.max(1, allowed))} %)`;
    console.log(`${room.padEnd(20)} ${found}, beside ${count("refused")} that types or linter refuse`);
  }
  const left = plantedCount - verdicts.length;
  if (left > 0) console.log(`${left} not tried: the time is up`);
  return verdicts.every(({ verdict }) => verdict === "found" || verdict === "refused") ? 0 : 1;
}

function sample(planted: readonly Planted[]): readonly Planted[] {
  if (values.sample === undefined) return planted;
  // A linear congruential generator (Numerical Recipes), so that a seed always chooses the same mistakes.
  let state = Number(values.seed) >>> 0;
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  return planted
    .map((each) => ({ each, order: next() }))
    .toSorted((one, other) => one.order - other.order)
    .slice(0, Number(values.sample))
    .map(({ each }) => each);
}

/** Writable by all, because tests also run programs as other users. */
function openMemory(): string {
  const folder = scratchFolder("mutate-", memoryFolder);
  chmodSync(folder, 0o1777);
  return folder;
}

function copyCheckout(): string {
  const copy = scratchFolder("mutate-");
  // Readable by all, because tests also run programs as other users.
  chmodSync(copy, 0o755);
  for (const name of [...COPIED, ...COPIED_BESIDE]) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  if (existsSync(join(root, "dist"))) symlinkSync(join(root, "dist"), join(copy, "dist"));
  return copy;
}

function changedFiles(revision: string): readonly string[] {
  const names = execFileSync("git", ["diff", "--name-only", "--diff-filter=AM", revision, "--", "src"], { cwd: root });
  return String(names)
    .split("\n")
    .filter((name) => isSource(name));
}

function sourceFiles(path: string): readonly string[] {
  const name = relative(root, resolve(path));
  if (!statSync(resolve(path)).isDirectory()) return [name];
  const names = execFileSync("git", ["ls-files", name], { cwd: root });
  return String(names)
    .split("\n")
    .filter((each) => isSource(each));
}

function isSource(name: string): boolean {
  return /^src\/.*\.tsx?$/.test(name) && !name.endsWith(".d.ts");
}

process.exitCode = await main();
