/** The maps for new contributors name files, so a renamed file must be renamed there, too. */
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = new URL("../../../", import.meta.url).pathname;

test("src/README.md: named files and folders → exist", async () => {
  const text = await readFile(join(ROOT, "src/README.md"), "utf8");
  const map = text.slice(text.indexOf("## From a configuration file"), text.indexOf("## Words"));
  const named = [...map.matchAll(/`([a-z]+(?:\/[\w.-]+)+)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(await missing(named, ["src", "."])).toEqual([]);
});

test("test/README.md: each of the 44 scenarios → test files that name its number", async () => {
  const text = await readFile(join(ROOT, "test/README.md"), "utf8");
  const rows = [...text.matchAll(/^\| (\d+) +\| [^|]+\| ([^|]+)\|$/gm)];
  expect(rows.map(([, number]) => Number(number))).toEqual(Array.from({ length: 44 }, (_, index) => index + 1));
  for (const [, number = "", tests = ""] of rows) {
    for (const [, path = ""] of tests.matchAll(/`([^`]+)`/g)) {
      const source = await readFile(join(ROOT, "test", `${path}.test.ts`), "utf8");
      expect(source, path).toMatch(new RegExp(`(?:[Ss]cenarios? [\\d, and]*\\b|["\`][\\d, ]*\\b|\\* )${number}\\b`));
    }
  }
});

/** Paths that exist in none of the folders. */
async function missing(paths: readonly string[], folders: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map(async (path) => {
      const tries = folders.map((folder) => access(join(ROOT, folder, path)));
      return (await Promise.allSettled(tries)).some(({ status }) => status === "fulfilled");
    }),
  );
  return paths.filter((_, index) => found[index] !== true);
}
