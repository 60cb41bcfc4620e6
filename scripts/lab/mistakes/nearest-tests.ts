import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";

import { parseSync } from "oxc-parser";

export const BROWSER = "src/console/browser";
/** The entry point of the console's bundle, and the tests that open it in a browser: no import connects them. */
const CONSOLE: readonly [imported: string, importer: string] = [`${BROWSER}/console.tsx`, "test/support/browser.ts"];

/** For each file of src and test, the files that import it or export from it. */
export function readImports(root: string): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>();
  const add = (imported: string, importer: string) =>
    importers.set(imported, (importers.get(imported) ?? new Set()).add(importer));
  add(...CONSOLE);
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
      ...module.staticExports.flatMap(({ entries }) =>
        entries.flatMap(({ isType, moduleRequest }) => (isType || moduleRequest === null ? [] : [moduleRequest.value])),
      ),
      ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start + 1, end - 1)),
    ];
    for (const request of requests.filter((each) => each.startsWith("."))) {
      add(relative(root, resolve(root, name, "..", request)), name);
    }
  }
  return importers;
}

/** The cheapest first. End-to-end tests are excluded, because they run packages built earlier. */
const TEST_FOLDERS = ["test/unit/", "test/integration/", "test/conformance/", "test/simulation/"];

/** Tests every operation as clients see it, on one service. Takes half a minute. */
const CONFORMANCE = "test/conformance/api-sqlite.test.ts";

/**
 * The test files that import a file, directly or not. Sorted by the number of imports in between, where each shared folder name counts
 * for three, then by cost, then by how often they mention the file. For files of the API, the conformance tests come last.
 */
export function nearestTests(
  root: string,
  path: string,
  importers: ReadonlyMap<string, ReadonlySet<string>>,
  most: number,
): readonly string[] {
  const rooms = path.split("/").slice(1, -1);
  const folderOf = (test: string) => TEST_FOLDERS.findIndex((folder) => test.startsWith(folder));
  const sharedRooms = (test: string) =>
    rooms.filter((room) => test.includes(`/${room}/`) || test.endsWith(`/${room}.test.ts`)).length;
  const word = basename(path).replace(/\.tsx?$/, "");
  const mentionsIn = (test: string) => readFileSync(join(root, test), "utf8").split(word).length;
  const tests: { readonly test: string; readonly rank: readonly number[] }[] = [];
  const seen = new Set([path]);
  for (let ring = [path], distance = 1; ring.length > 0; distance++) {
    ring = ring.flatMap((name) => [...(importers.get(name) ?? [])]).filter((name) => !seen.has(name) && seen.add(name));
    for (const test of ring.filter((name) => name.endsWith(".test.ts") && folderOf(name) !== -1)) {
      tests.push({ test, rank: [distance - 3 * sharedRooms(test), folderOf(test), -mentionsIn(test)] });
    }
  }
  const nearest = tests
    .toSorted((one, other) => compareRanks(one.rank, other.rank))
    .map(({ test }) => test)
    .slice(0, most);
  const isOfApi = /^src\/(?:api|service)\//.test(path) && seen.has(CONFORMANCE) && !nearest.includes(CONFORMANCE);
  return isOfApi ? [...nearest, CONFORMANCE] : nearest;
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
