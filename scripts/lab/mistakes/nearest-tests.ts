import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve, relative } from "node:path";

/** For each file of src and test, the files that import it or export from it. */
export type Importers = ReadonlyMap<string, ReadonlySet<string>>;

/** Imports and exports that remain at run time, unlike `import type`. */
const REQUEST = /^(?:import|export) (?!type )(?:[^;]*? from )?"(\.[^"]+)";$|\bimport\("(\.[^"]+)"\)/gm;

/** @param root of the checkout, whose files may differ from the last commit. */
export function readImporters(root: string): Importers {
  const importers = new Map<string, Set<string>>();
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "src", "test"];
  for (const name of String(execFileSync("git", args, { cwd: root })).split("\n")) {
    if (!/\.tsx?$/.test(name) || !existsSync(join(root, name))) continue;
    for (const [, statically, dynamically] of readFileSync(join(root, name), "utf8").matchAll(REQUEST)) {
      const imported = relative(root, resolve(root, name, "..", statically ?? dynamically ?? ""));
      importers.set(imported, (importers.get(imported) ?? new Set()).add(name));
    }
  }
  return importers;
}

/** The cheapest first. End-to-end tests are excluded, because they run packages built earlier. */
const TEST_FOLDERS = ["test/unit/", "test/integration/", "test/conformance/", "test/simulation/"];

/** Tests every operation as clients see it, on one service. Takes half a minute. */
const CONFORMANCE = "test/conformance/api-sqlite.test.ts";

/**
 * The `most` test files that import a file with the fewest files in between, where each shared folder name counts for three. For files of
 * the API and the service, the conformance tests come last.
 */
export function nearestTests(path: string, importers: Importers, most: number): readonly string[] {
  const rooms = path.split("/").slice(1, -1);
  const folderOf = (test: string) => TEST_FOLDERS.findIndex((folder) => test.startsWith(folder));
  const sharedRooms = (test: string) =>
    rooms.filter((room) => test.includes(`/${room}/`) || test.endsWith(`/${room}.test.ts`)).length;
  const tests: { readonly test: string; readonly rank: number }[] = [];
  const seen = new Set([path]);
  for (let ring = [path], distance = 1; ring.length > 0; distance += 1) {
    ring = ring.flatMap((name) => [...(importers.get(name) ?? [])]).filter((name) => !seen.has(name) && seen.add(name));
    for (const test of ring.filter((name) => name.endsWith(".test.ts") && folderOf(name) !== -1)) {
      tests.push({ test, rank: TEST_FOLDERS.length * (distance - 3 * sharedRooms(test)) + folderOf(test) });
    }
  }
  const nearest = tests
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ test }) => test)
    .slice(0, most);
  const isOfApi = /^src\/(?:api|service)\//.test(path) && seen.has(CONFORMANCE) && !nearest.includes(CONFORMANCE);
  return isOfApi ? [...nearest, CONFORMANCE] : nearest;
}
