/**
 * Plants the mistakes that would harm robots most, one at a time, runs the nearest tests, and prints the mistakes that no test notices. Works
 * in a copy of the checkout.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { createVitest, type TestSpecification, type Vitest } from "vitest/node";

import { scratchFolder } from "../../support/end-of-script.ts";
import { optionalNumber, readFlagsAndNames, refuseFlags, wholeNumber } from "../../support/flags.ts";
import { nearestTests, readImporters } from "./nearest-tests.ts";

/** What is replaced, and by what. Every match is a mistake of its own. */
const KINDS: Readonly<Record<string, readonly [pattern: RegExp, replacement: string]>> = {
  /** A query sees the rows of all organizations. */
  "dropped-organization": [/\s*\.where\("(?:\w+\.)?organization_id", "[^"]+", [\w.]+(?:\("\w+"\))?\)/g, ""],
  /** A power cut loses what was acknowledged. */
  "dropped-fsync": [/\b[\w.]+\.(?:sync|syncDirectory)\((?:[^()]|\([^()]*\))*\)/g, "Promise.resolve()"],
  /** Two replicas change the same row at once. */
  "dropped-lock": [/\s*\.(?:forUpdate|forNoKeyUpdate|skipLocked)\(\)/g, ""],
  /** Every key may do it. */
  "dropped-scope": [/(?<=\bscopes: )\[[^\]]+\]/g, '"any"'],
  /** Queries of one answer see different states of the store. */
  "dropped-snapshot": [/(?<!function )\breadSnapshot(?=\()/g, "((reader, read) => read(reader))"],
};

const HELP = `Usage: scripts/lab/mutate FILE or FOLDER … [options]

Plants mistakes in source files, one at a time, and prints those that no test notices. Exits 1 if there are any.

  --kind KIND  only this kind of mistake; may be repeated: ${Object.keys(KINDS).join(", ")}
  --sample N   at most N mistakes, chosen at random
  --minutes N  plant no further mistake after this time
  --tests N    for each mistake, run at most the N test files that are nearest by imports (default: 5)

Examples:
  scripts/lab/mutate src/service --kind dropped-organization
  scripts/lab/mutate $(git diff --name-only --diff-filter=AM main -- src)
`;

/** Ends tests that a mistake makes wait forever. */
const TEST_LIMIT_MS = 20_000;

interface Mistake {
  readonly path: string;
  /** The text of the file without and with the mistake. */
  readonly source: string;
  readonly planted: string;
  /** For people: line, and what is replaced. */
  readonly place: string;
}

/** `untested`: no test that imports the file passes without the mistake. */
type Verdict = "found" | "survived" | "untested";

const root = resolve(import.meta.dirname, "../../..");
const { values, positionals } = readFlagsAndNames(HELP, {
  kind: { type: "string", multiple: true, default: Object.keys(KINDS) },
  sample: { type: "string" },
  minutes: { type: "string" },
  tests: { type: "string", default: "5" },
});
const sample = optionalNumber(HELP, "sample", values.sample) ?? Infinity;
const minutes = optionalNumber(HELP, "minutes", values.minutes) ?? Infinity;
const mostTests = wholeNumber(HELP, "tests", values.tests);
const unknown = values.kind.find((kind) => !Object.hasOwn(KINDS, kind));
if (unknown !== undefined) refuseFlags(HELP, `--kind '${unknown}' is no kind of mistake`);
if (positionals.length === 0) refuseFlags(HELP, "no file or folder is named");
const mistakes = inRandomOrder(sourceFiles(positionals).flatMap(mistakesIn)).slice(0, sample);
if (mistakes.length === 0) refuseFlags(HELP, `no mistake fits into ${positionals.join(", ")}`);

const importers = readImporters(root);
const copy = copyCheckout();
const vitest = await startVitest();
const specifications = await vitest.globTestSpecifications();
const soundTests = new Map<string, boolean>();
const verdicts: Verdict[] = [];
const endsAtMs = performance.now() + minutes * 60_000;
for (const mistake of mistakes) {
  if (performance.now() > endsAtMs) break;
  const verdict = await judge(mistake);
  verdicts.push(verdict);
  if (verdict !== "found") console.log(`${verdict}: ${mistake.path}:${mistake.place}`);
}
await vitest.close();
const found = verdicts.filter((verdict) => verdict === "found").length;
const notTried = mistakes.length - verdicts.length;
console.log(`${found} of ${verdicts.length} found${notTried === 0 ? "" : `; ${notTried} not tried: the time is up`}`);
process.exitCode = found === verdicts.length ? 0 : 1;

function mistakesIn(path: string): readonly Mistake[] {
  const source = readFileSync(join(root, path), "utf8");
  return values.kind.flatMap((kind) => {
    const [pattern, replacement] = KINDS[kind] ?? [/$^/g, ""];
    return [...source.matchAll(pattern)].map((match) => {
      const line = source.slice(0, match.index).split("\n").length;
      return {
        path,
        source,
        planted: source.slice(0, match.index) + replacement + source.slice(match.index + match[0].length),
        place: `${line} ${kind}: ${match[0].trim()}`,
      };
    });
  });
}

async function judge({ path, source, planted }: Mistake): Promise<Verdict> {
  const file = join(copy, path);
  let verdict: Verdict = "untested";
  // One test file after the other, because most mistakes are found by the first.
  for (const test of nearestTests(path, importers, mostTests)) {
    const specification = specifications.find(({ moduleId }) => moduleId === join(copy, test));
    if (specification === undefined) continue;
    if (await passes(specification, file, planted)) verdict = "survived";
    else if (await isSound(specification, file, source)) return "found";
  }
  return verdict;
}

/** Whether the test passes without a mistake: it may need something that this machine or the copy lacks. */
async function isSound(specification: TestSpecification, file: string, source: string): Promise<boolean> {
  const known = soundTests.get(specification.moduleId);
  if (known !== undefined) return known;
  const isPassed = await passes(specification, file, source);
  soundTests.set(specification.moduleId, isPassed);
  return isPassed;
}

/** Runs a test file with this text of the source. */
async function passes(specification: TestSpecification, file: string, text: string): Promise<boolean> {
  const source = readFileSync(file, "utf8");
  writeFileSync(file, text);
  vitest.invalidateFile(file);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  writeFileSync(file, source);
  // Vitest returns all files that it has run so far, including those that failed by an earlier mistake.
  const own = testModules.filter(({ moduleId }) => moduleId === specification.moduleId);
  return own.length > 0 && own.every((module) => module.ok()) && unhandledErrors.length === 0;
}

function startVitest(): Promise<Vitest> {
  const limits = { bail: 1, testTimeout: TEST_LIMIT_MS, hookTimeout: TEST_LIMIT_MS };
  // A new worker for each mistake. Without the global setup, tests start the programs from their sources.
  const workers = { isolate: true, globalSetup: [] };
  return createVitest(
    "test",
    { root: copy, watch: false, reporters: [{}], ...limits, ...workers },
    { logLevel: "silent" },
  );
}

function sourceFiles(paths: readonly string[]): readonly string[] {
  return listFiles(paths).filter((name) => /^src\/.*\.tsx?$/.test(name) && !name.endsWith(".d.ts"));
}

function copyCheckout(): string {
  const folder = scratchFolder("mutate-");
  // Readable by all, because tests also run programs as other users.
  chmodSync(folder, 0o755);
  for (const name of listFiles([])) cpSync(join(root, name), join(folder, name));
  for (const name of ["node_modules", "dist"]) {
    if (existsSync(join(root, name))) symlinkSync(join(root, name), join(folder, name));
  }
  return folder;
}

/** The files of the checkout that git does not ignore. */
function listFiles(paths: readonly string[]): readonly string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...paths];
  const names = String(execFileSync("git", args, { cwd: root }))
    .trimEnd()
    .split("\n");
  return names.filter((name) => name !== "" && existsSync(join(root, name)));
}

function inRandomOrder<T>(items: readonly T[]): readonly T[] {
  const drawn = items.map((item) => ({ item, order: Math.random() }));
  return drawn.toSorted((one, other) => one.order - other.order).map(({ item }) => item);
}
