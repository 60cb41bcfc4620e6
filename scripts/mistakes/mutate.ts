/**
 * Plants mistakes in source files, one at a time, runs the tests that import each file, and prints the mistakes that no test notices.
 *
 *   scripts/mutate src/agent/decide.ts src/client      files and folders; --changed for what differs from a revision
 *
 * It works in a copy of the checkout. Exits 1 when a mistake survives.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

import { parseSync } from "oxc-parser";
import type { TestModule, TestSpecification, Vitest } from "vitest/node";
import { createVitest } from "vitest/node";

import { memoryFolder } from "../../test/support/memory.ts";
import { scratchFolder } from "../support/end-of-script.ts";
import type { Mutation, MutationKind } from "./mutations.ts";
import { MUTATION_KINDS, mutationsOf } from "./mutations.ts";

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
/** What a copy of the checkout needs for its tests to run. */
const COPIED = ["src", "test", "config", "systemd", "scripts", "package.json", "tsconfig.json", "vitest.config.ts"];
const COPIED_BESIDE = ["README.md", "CHANGELOG.md", "LICENSE"];
/** A mistake that makes a test wait for ever is found by then. */
const TEST_LIMIT_MS = 20_000;
/** A mistake that makes a loop endless keeps the worker from ending, and fills the memory: it is killed. */
const RUN_LIMIT_MS = 60_000;

interface Planted {
  readonly path: string;
  readonly mutation: Mutation;
}

/** `refused`: by the types, so that no test need find it. `untested`: no test that imports the file works without the mistake. */
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
  // A worker that a mistake keeps from its end is killed, and leaves its databases.
  process.env["ROBOT_POLICY_TEST_MEMORY"] = openMemory();
  return judgeAll(planted, copy);
}

function plantsIn(path: string, kinds: readonly MutationKind[]): readonly Planted[] {
  return mutationsOf(path, readFileSync(join(root, path), "utf8"), kinds).map((mutation) => ({ path, mutation }));
}

async function judgeAll(planted: readonly Planted[], copy: string): Promise<number> {
  const endsAtMs = values.minutes === undefined ? Infinity : performance.now() + Number(values.minutes) * 60_000;
  const graph = readImports();
  const vitest = await createVitest(
    "test",
    {
      root: copy,
      watch: false,
      bail: 1,
      testTimeout: TEST_LIMIT_MS,
      hookTimeout: TEST_LIMIT_MS,
      reporters: [{}],
      // Each mistake in a worker of its own, and in programs, which start from their sources then.
      isolate: true,
      globalSetup: [],
    },
    { logLevel: "silent" },
  );
  const verdicts: { readonly planted: Planted; readonly verdict: Verdict }[] = [];
  try {
    const all = await vitest.globTestSpecifications();
    const tests = new NearTests(vitest);
    for (const each of planted) {
      if (performance.now() > endsAtMs) break;
      const near = nearestTests(each.path, graph).map((test) => join(copy, test));
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
  tests: NearTests,
  specifications: readonly TestSpecification[],
): Promise<Verdict> {
  const file = join(copy, path);
  const source = readFileSync(file, "utf8");
  const planted = source.slice(0, start) + replacement + source.slice(end);
  let hasRun = false;
  // Nearest first: most mistakes are found by the first file.
  for (const specification of specifications) {
    const isNoticed = await tests.notice(specification, file, { source, planted });
    if (isNoticed === true) return "found";
    if (isNoticed === false) hasRun = true;
  }
  writeFileSync(file, planted);
  const isRefused = isRefusedByTypes(path, copy);
  writeFileSync(file, source);
  if (isRefused) return "refused";
  return hasRun ? "survived" : "untested";
}

const BROWSER = "src/console/browser";

/** By an error in the file itself: the checkout may have others. */
function isRefusedByTypes(path: string, copy: string): boolean {
  const project = path.startsWith(`${BROWSER}/`) ? BROWSER : ".";
  const tsc = join(root, "node_modules/.bin/tsc");
  const { stdout } = spawnSync(tsc, ["--pretty", "false", "--project", project], { cwd: copy, encoding: "utf8" });
  return stdout.split("\n").some((line) => line.startsWith(`${path}(`));
}

/** `unclear`: it took too long, or did not get as far as its tests, for which the mistake need not be the reason. */
type Outcome = "passed" | "failed" | "unclear";

/** Runs test files, and knows those that fail without any mistake, for what the copy or the machine lacks. */
class NearTests {
  readonly #vitest: Vitest;
  readonly #sound = new Set<string>();
  readonly #failing = new Set<string>();

  constructor(vitest: Vitest) {
    this.#vitest = vitest;
  }

  /** Whether the tests fail with the mistake and not without; null where they fail anyway. */
  async notice(
    specification: TestSpecification,
    file: string,
    { source, planted }: { readonly source: string; readonly planted: string },
  ): Promise<boolean | null> {
    const { moduleId } = specification;
    if (this.#failing.has(moduleId)) return null;
    const outcome = await this.#runWith(planted, file, specification);
    if (outcome === "passed") return false;
    if (outcome === "unclear" || !this.#sound.has(moduleId)) {
      const without = await this.#runWith(source, file, specification);
      if (without === "failed") {
        this.#failing.add(moduleId);
        console.log(`left out: ${moduleId.slice(moduleId.lastIndexOf("/test/") + 1)} fails without any mistake`);
      }
      if (without !== "passed") return null;
      this.#sound.add(moduleId);
    }
    // What only took too long may have been held up by the machine.
    return outcome === "failed" || (await this.#runWith(planted, file, specification)) !== "passed";
  }

  async #runWith(text: string, file: string, specification: TestSpecification): Promise<Outcome> {
    const source = readFileSync(file, "utf8");
    this.#write(file, text);
    let isKilled = false;
    const limit = setTimeout(() => {
      isKilled = true;
      void this.#killWorker();
    }, RUN_LIMIT_MS);
    try {
      const { testModules, unhandledErrors } = await this.#vitest.runTestSpecifications([specification]);
      // Tests that did not run any more count as skipped.
      if (isKilled) return "unclear";
      // Vitest answers with every file that it has run so far, those that an earlier mistake made fail among them.
      const own = testModules.filter(({ moduleId }) => moduleId === specification.moduleId);
      if (own.length > 0 && own.every((module) => module.ok()) && unhandledErrors.length === 0) return "passed";
      const isFailure = (message: string) => !/timed out|\[vitest/i.test(message);
      return own.flatMap(failuresOf).some(isFailure) ? "failed" : "unclear";
    } finally {
      clearTimeout(limit);
      this.#write(file, source);
    }
  }

  /** The first cancellation asks the worker to end; vitest kills what is there at the second. */
  async #killWorker(): Promise<void> {
    await Promise.all([this.#vitest.cancelCurrentRun("test-failure"), this.#vitest.cancelCurrentRun("test-failure")]);
  }

  #write(file: string, text: string): void {
    writeFileSync(file, text);
    this.#vitest.invalidateFile(file);
  }
}

/** Messages of the assertions that failed, and of what kept the file from running. */
function failuresOf(module: TestModule): readonly string[] {
  const failed = [...module.children.allTests("failed")].flatMap((test) => test.result().errors ?? []);
  return [...module.errors(), ...failed].map(({ message }) => message);
}

function describe({ path, mutation: { kind, start, end, replacement } }: Planted, verdict: Verdict): string {
  const source = readFileSync(join(root, path), "utf8");
  const line = source.slice(0, start).split("\n").length;
  const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").slice(0, 90);
  return `${verdict}: ${path}:${line} ${kind}: ${oneLine(source.slice(start, end))}  →  ${oneLine(replacement)}`;
}

/** A line for each room (folder below src), then all. */
function summarize(
  verdicts: readonly { readonly planted: Planted; readonly verdict: Verdict }[],
  plantedCount: number,
): number {
  const rooms = Map.groupBy(verdicts, ({ planted }) => planted.path.split("/").slice(0, 2).join("/"));
  for (const [room, inRoom] of [...rooms].toSorted()) {
    const count = (wanted: Verdict) => inRoom.filter(({ verdict }) => verdict === wanted).length;
    const allowed = inRoom.length - count("refused");
    const found = `${count("found")} of ${allowed} found (${Math.round((100 * count("found")) / Math.max(1, allowed))} %)`;
    console.log(`${room.padEnd(20)} ${found}, beside ${count("refused")} that the types refuse`);
  }
  const left = plantedCount - verdicts.length;
  if (left > 0) console.log(`${left} not tried: the time was over`);
  return verdicts.every(({ verdict }) => verdict === "found" || verdict === "refused") ? 0 : 1;
}

function sample(planted: readonly Planted[]): readonly Planted[] {
  if (values.sample === undefined) return planted;
  // A linear congruential generator (Numerical Recipes): the same seed takes the same mistakes.
  let state = Number(values.seed) >>> 0;
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
  return planted
    .map((each) => ({ each, order: next() }))
    .toSorted((one, other) => one.order - other.order)
    .slice(0, Number(values.sample))
    .map(({ each }) => each);
}

/** Tests run programs as other users, too. */
function openMemory(): string {
  const folder = scratchFolder("mutate-", memoryFolder);
  chmodSync(folder, 0o1777);
  return folder;
}

function copyCheckout(): string {
  const copy = scratchFolder("mutate-");
  // Tests run the programs as other users, too.
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

/** Each file of src and test, with the files that import it. */
function readImports(): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  const names = String(
    execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "src", "test"], { cwd: root }),
  ).split("\n");
  for (const name of names.filter((each) => /\.tsx?$/.test(each) && existsSync(join(root, each)))) {
    const source = readFileSync(join(root, name), "utf8");
    const { module } = parseSync(name, source);
    const requests = [
      ...module.staticImports
        .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
        .map(({ moduleRequest }) => moduleRequest.value),
      ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
    ];
    for (const request of requests.filter((each) => each.startsWith("."))) {
      const imported = relative(root, resolve(root, name, "..", request));
      importers.set(imported, (importers.get(imported) ?? new Set()).add(name));
    }
  }
  return importers;
}

/** The cheapest to run first. Machines under a systemd run packages that were built before. */
const TEST_FOLDERS = ["test/unit/", "test/integration/", "test/conformance/", "test/simulation/"];

/**
 * The test files that import a file, directly or not: those with the fewest steps between first, of these the tests of its room, of these
 * the cheap ones, of these those that speak of it most often.
 */
function nearestTests(path: string, importers: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const rooms = path.split("/").slice(1, -1);
  const folderOf = (test: string) => TEST_FOLDERS.findIndex((folder) => test.startsWith(folder));
  const isOfRoom = (test: string) => rooms.some((room) => test.includes(`/${room}/`));
  const word = basename(path).replace(/\.tsx?$/, "");
  const mentionsIn = (test: string) => readFileSync(join(root, test), "utf8").split(word).length;
  const tests: string[] = [];
  const seen = new Set([path]);
  for (let ring = [path]; ring.length > 0 && tests.length < Number(values.tests);) {
    ring = ring.flatMap((name) => [...(importers.get(name) ?? [])]).filter((name) => !seen.has(name) && seen.add(name));
    const near = ring.filter((name) => name.endsWith(".test.ts") && folderOf(name) !== -1);
    const ranked = near.map((test) => ({ test, rank: [isOfRoom(test) ? 0 : 1, folderOf(test), -mentionsIn(test)] }));
    tests.push(...ranked.toSorted((one, other) => compareRanks(one.rank, other.rank)).map(({ test }) => test));
  }
  return tests.slice(0, Number(values.tests));
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

process.exitCode = await main();
