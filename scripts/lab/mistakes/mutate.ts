/**
 * Plants mistakes in source files, one at a time, runs the tests that import each file, and prints the mistakes that no test notices.
 *
 *   scripts/lab/mutate src/agent/decide.ts src/client      files and folders; --changed for what differs from a revision
 *
 * It works in a copy of the checkout. Exits 1 when a mistake survives.
 */
import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative, resolve } from "node:path";

import { createVitest, type TestSpecification } from "vitest/node";

import { memoryFolder } from "../../../test/support/memory.ts";
import { scratchFolder } from "../../support/end-of-script.ts";
import { optionalNumber, readFlagsAndNames, refuseFlags, wholeNumber } from "../../support/flags.ts";
import { type Mutation, MUTATION_KINDS, type MutationKind, mutationsOf } from "./mutations.ts";
import { BROWSER, nearestTests, readImports } from "./nearest-tests.ts";
import { TestRuns } from "./test-runs.ts";

const HELP = `Usage: scripts/lab/mutate [FILE or FOLDER …] [options]

  --changed [REV]     the source files that differ from REV (default: main)
  --kind KIND         only this kind of mistake; may be repeated: ${MUTATION_KINDS.join(", ")}
  --sample N          at most N mistakes in each FILE or FOLDER, chosen at random by --seed
  --seed N            default 1
  --minutes N         stop after so long in each FILE or FOLDER, and say what is left
  --tests N           run at most the N test files that are nearest by imports (default 5)

Examples:
  scripts/lab/mutate src/agent/decide.ts
  scripts/lab/mutate --changed --minutes 10
  scripts/lab/mutate src/service --kind dropped-organization
`;

const { values, positionals } = readFlagsAndNames(HELP, {
  changed: { type: "boolean", default: false },
  kind: { type: "string", multiple: true },
  sample: { type: "string" },
  seed: { type: "string", default: "1" },
  minutes: { type: "string" },
  tests: { type: "string", default: "5" },
});

const numbers = {
  sample: optionalNumber(HELP, "sample", values.sample) ?? Infinity,
  seed: wholeNumber(HELP, "seed", values.seed),
  minutes: optionalNumber(HELP, "minutes", values.minutes) ?? Infinity,
  tests: wholeNumber(HELP, "tests", values.tests),
};

const root = resolve(import.meta.dirname, "../../..");
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
/** Kinds that compiler or linter refuse more often than not. */
const OFTEN_REFUSED: ReadonlySet<MutationKind> = new Set(["swapped-arguments", "dropped-await"]);
/** Ends tests that a mistake makes wait forever. */
const TEST_LIMIT_MS = 20_000;
interface Planted {
  readonly path: string;
  readonly mutation: Mutation;
}

/** A named file or folder, or all changed files. */
interface Part {
  /** Number of leading path names that form the room in the summary. */
  readonly depth: number;
  readonly planted: readonly Planted[];
}

/** `refused`: by the compiler or the linter, so no test has to find it. `untested`: no test that imports the file passes without the mistake. */
type Verdict = "refused" | "found" | "survived" | "untested";

async function main(): Promise<number> {
  if (positionals.length === 0 && !values.changed) refuseFlags(HELP, "no file or folder is named");
  const kinds = MUTATION_KINDS.filter((kind) => values.kind?.includes(kind) !== false);
  const unknown = values.kind?.find((kind) => !kinds.some((known) => known === kind));
  if (unknown !== undefined) refuseFlags(HELP, `--kind '${unknown}' is no kind of mistake`);
  const plant = (paths: readonly string[]) => sample(paths.flatMap((path) => plantsIn(path, kinds)));
  const parts: readonly Part[] = values.changed
    ? [{ depth: 2, planted: plant(changedFiles(positionals[0] ?? "main")) }]
    : positionals.map((name) => ({ depth: Math.max(2, name.split("/").length), planted: plant(sourceFiles(name)) }));
  const copy = copyCheckout();
  await buildConsole(copy);
  // A worker that hangs is killed and leaves its databases behind, so they get a folder that is removed with this script.
  process.env["ROBOT_POLICY_TEST_MEMORY"] = openMemory();
  return judgeAll(parts, copy);
}

function plantsIn(path: string, kinds: readonly MutationKind[]): readonly Planted[] {
  return mutationsOf(path, readFileSync(join(root, path), "utf8"), kinds).map((mutation) => ({ path, mutation }));
}

async function judgeAll(parts: readonly Part[], copy: string): Promise<number> {
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
  let exitCode = 0;
  try {
    const all = await vitest.globTestSpecifications();
    const tests = new TestRuns(vitest, async (file) => {
      if (file.startsWith(join(copy, BROWSER))) await buildConsole(copy);
    });
    for (const { depth, planted } of parts) {
      const endsAtMs = performance.now() + numbers.minutes * 60_000;
      const verdicts: { readonly planted: Planted; readonly verdict: Verdict }[] = [];
      for (const each of planted) {
        if (performance.now() > endsAtMs) break;
        const near = nearestTests(copy, each.path, importers, numbers.tests).map((test) => join(copy, test));
        const specifications = near.flatMap((test) => all.filter(({ moduleId }) => moduleId === test));
        const verdict = await judge(each, copy, tests, specifications);
        verdicts.push({ planted: each, verdict });
        if (verdict === "survived" || verdict === "untested") console.log(describe(each, verdict));
      }
      exitCode = Math.max(exitCode, summarize(verdicts, planted.length, depth));
    }
  } finally {
    await vitest.close();
  }
  return exitCode;
}

async function judge(
  { path, mutation: { kind, start, end, replacement } }: Planted,
  copy: string,
  tests: TestRuns,
  specifications: readonly TestSpecification[],
): Promise<Verdict> {
  const file = join(copy, path);
  const source = readFileSync(file, "utf8");
  const planted = source.slice(0, start) + replacement + source.slice(end);
  const checkedBefore = OFTEN_REFUSED.has(kind) ? 0 : 1;
  let hasRun = false;
  // The nearest first, because most mistakes are found by the first file.
  for (const [index, specification] of specifications.entries()) {
    // Tests would find most of what is refused, too: counted as found, it would hide what they do not find.
    if (index === checkedBefore && (await isRefused())) return "refused";
    const isNoticed = await tests.notice(specification, file, { source, planted });
    if (isNoticed === true) return "found";
    if (isNoticed === false) hasRun = true;
  }
  if (specifications.length <= checkedBefore && (await isRefused())) return "refused";
  return hasRun ? "survived" : "untested";

  async function isRefused(): Promise<boolean> {
    writeFileSync(file, planted);
    const refused = (await isRefusedByTypes(path, copy)) || (await isRefusedByLinter(path, copy));
    writeFileSync(file, source);
    return refused;
  }
}

/** Counts only errors in the file itself, because the checkout may have others. */
async function isRefusedByTypes(path: string, copy: string): Promise<boolean> {
  const project = path.startsWith(`${BROWSER}/`) ? BROWSER : ".";
  // What did not change since the last time is not checked again, which takes a tenth of the time.
  const buildInfo = join(copy, `${project.replaceAll("/", "-")}.tsbuildinfo`);
  const args = ["--pretty", "false", "--project", project, "--incremental", "--tsBuildInfoFile", buildInfo];
  const { stdout } = await run("tsc", args, copy);
  return stdout.split("\n").some((line) => line.startsWith(`${path}(`));
}

/** Finds mainly promises that nothing awaits. */
async function isRefusedByLinter(path: string, copy: string): Promise<boolean> {
  return (await run("oxlint", ["--type-aware", path], copy)).isFailure;
}

/** Browsers get the bundle, not the sources. */
async function buildConsole(copy: string): Promise<void> {
  const code = 'import { buildConsole } from "./scripts/build-console.ts"; await buildConsole("dist/console");';
  await run("node", ["--input-type=module", "--eval", code], copy);
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

/** Prints one line for each room. @returns the exit code. */
function summarize(
  verdicts: readonly { readonly planted: Planted; readonly verdict: Verdict }[],
  plantedCount: number,
  depth: number,
): number {
  const rooms = Map.groupBy(verdicts, ({ planted }) => planted.path.split("/").slice(0, depth).join("/"));
  for (const [room, inRoom] of [...rooms].toSorted()) {
    const count = (wanted: Verdict) => inRoom.filter(({ verdict }) => verdict === wanted).length;
    const allowed = inRoom.length - count("refused");
    const found = `${count("found")} of ${allowed} found (${Math.round((100 * count("found")) / Math.max(1, allowed))} %)`;
    console.log(`${room.padEnd(26)} ${found}, beside ${count("refused")} that types or linter refuse`);
  }
  const left = plantedCount - verdicts.length;
  if (left > 0) console.log(`${left} not tried: the time is up`);
  return verdicts.every(({ verdict }) => verdict === "found" || verdict === "refused") ? 0 : 1;
}

function sample(planted: readonly Planted[]): readonly Planted[] {
  if (numbers.sample === Infinity) return planted;
  // A linear congruential generator (Numerical Recipes), so that a seed always chooses the same mistakes.
  let state = numbers.seed >>> 0;
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  return planted
    .map((each) => ({ each, order: next() }))
    .toSorted((one, other) => one.order - other.order)
    .slice(0, numbers.sample)
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
  const dist = join(root, "dist");
  mkdirSync(join(copy, "dist"));
  for (const name of existsSync(dist) ? readdirSync(dist) : []) {
    if (name !== "console") symlinkSync(join(dist, name), join(copy, "dist", name));
  }
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
