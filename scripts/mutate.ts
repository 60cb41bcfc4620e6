/**
 * Plants mistakes in source files, one at a time, runs the tests that import each file, and prints the mistakes that no test notices.
 *
 *   scripts/mutate src/agent/decide.ts src/client      files and folders; --changed for what differs from a revision
 *
 * It works in a copy of the checkout. Exits 1 when a mistake survives.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

import { parseSync } from "oxc-parser";
import type { TestSpecification, Vitest } from "vitest/node";
import { createVitest } from "vitest/node";

import { scratchFolder } from "./end-of-script.ts";
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

const root = resolve(import.meta.dirname, "..");
/** What a copy of the checkout needs for its tests to run. */
const COPIED = ["src", "test", "config", "systemd", "scripts", "package.json", "tsconfig.json", "vitest.config.ts"];
const COPIED_BESIDE = ["README.md", "CHANGELOG.md", "LICENSE"];
/** A mistake that makes a test wait for ever is found by then. */
const TEST_LIMIT_MS = 20_000;

interface Planted {
  readonly path: string;
  readonly mutation: Mutation;
}

type Verdict = "found" | "survived" | "untested";

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
    for (const each of planted) {
      if (performance.now() > endsAtMs) break;
      const near = nearestTests(each.path, graph).map((test) => join(copy, test));
      const specifications = near.flatMap((test) => all.filter(({ moduleId }) => moduleId === test));
      const verdict = await judge(each, copy, vitest, specifications);
      verdicts.push({ planted: each, verdict });
      if (verdict !== "found") console.log(describe(each, verdict));
    }
  } finally {
    await vitest.close();
  }
  return summarize(verdicts, planted.length);
}

async function judge(
  { path, mutation: { start, end, replacement } }: Planted,
  copy: string,
  vitest: Vitest,
  specifications: TestSpecification[],
): Promise<Verdict> {
  if (specifications.length === 0) return "untested";
  const file = join(copy, path);
  const source = readFileSync(file, "utf8");
  writeFileSync(file, source.slice(0, start) + replacement + source.slice(end));
  vitest.invalidateFile(file);
  try {
    // Nearest first: most mistakes are found by the first file.
    for (const specification of specifications) {
      const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
      // Vitest answers with every file that it has run so far, those that an earlier mistake made fail among them.
      const own = testModules.filter(({ moduleId }) => moduleId === specification.moduleId);
      if (unhandledErrors.length > 0 || own.some((module) => !module.ok())) return "found";
    }
    return "survived";
  } finally {
    writeFileSync(file, source);
    vitest.invalidateFile(file);
  }
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
    const found = inRoom.filter(({ verdict }) => verdict === "found").length;
    console.log(
      `${room.padEnd(20)} ${found} of ${inRoom.length} found (${Math.round((100 * found) / inRoom.length)} %)`,
    );
  }
  const left = plantedCount - verdicts.length;
  if (left > 0) console.log(`${left} not tried: the time was over`);
  return verdicts.every(({ verdict }) => verdict === "found") ? 0 : 1;
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

function copyCheckout(): string {
  const copy = scratchFolder("mutate-");
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

/** The test files that import a file, directly or not: those with the fewest steps between first, of these the tests of its room. */
function nearestTests(path: string, importers: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const room = path.split("/")[1] ?? "";
  const byRoom = (one: string, other: string) =>
    Number(other.includes(`/${room}/`)) - Number(one.includes(`/${room}/`)) || (one < other ? -1 : 1);
  const tests: string[] = [];
  const seen = new Set([path]);
  for (let ring = [path]; ring.length > 0 && tests.length < Number(values.tests);) {
    ring = ring.flatMap((name) => [...(importers.get(name) ?? [])]).filter((name) => !seen.has(name) && seen.add(name));
    tests.push(...ring.filter((name) => name.endsWith(".test.ts")).toSorted(byRoom));
  }
  return tests.slice(0, Number(values.tests));
}

process.exitCode = await main();
