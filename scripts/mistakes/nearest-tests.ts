import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";

import { parseSync } from "oxc-parser";

/** For each file of src and test, the files that import it. */
export function readImports(root: string): ReadonlyMap<string, ReadonlySet<string>> {
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

/** The cheapest first. The end-to-end tests are left out, because they run packages that were built before. */
const TEST_FOLDERS = ["test/unit/", "test/integration/", "test/conformance/", "test/simulation/"];

/**
 * The test files that import a file, directly or not. Sorted by the number of imports in between, then by the folders whose names they share, then the
 * cheapest, then those that mention the file most often.
 */
export function nearestTests(
  root: string,
  path: string,
  importers: ReadonlyMap<string, ReadonlySet<string>>,
  most: number,
): readonly string[] {
  const rooms = path.split("/").slice(1, -1);
  const folderOf = (test: string) => TEST_FOLDERS.findIndex((folder) => test.startsWith(folder));
  const sharedRooms = (test: string) => rooms.filter((room) => test.includes(`/${room}/`)).length;
  const word = basename(path).replace(/\.tsx?$/, "");
  const mentionsIn = (test: string) => readFileSync(join(root, test), "utf8").split(word).length;
  const tests: string[] = [];
  const seen = new Set([path]);
  for (let ring = [path]; ring.length > 0 && tests.length < most;) {
    ring = ring.flatMap((name) => [...(importers.get(name) ?? [])]).filter((name) => !seen.has(name) && seen.add(name));
    const near = ring.filter((name) => name.endsWith(".test.ts") && folderOf(name) !== -1);
    const ranked = near.map((test) => ({ test, rank: [-sharedRooms(test), folderOf(test), -mentionsIn(test)] }));
    tests.push(...ranked.toSorted((one, other) => compareRanks(one.rank, other.rank)).map(({ test }) => test));
  }
  return tests.slice(0, most);
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}
