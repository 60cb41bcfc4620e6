/** What the pages say about each other and about files is true. */
import { access, glob, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

import { expect, test } from "vitest";

import { type Page, proseOf, readPage, readPages, ROOT } from "../../support/documents/pages.ts";

test("every page: relative links → an existing file, and a heading of it", async () => {
  const pages = await readPages();
  const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page)]));
  const links = pages.flatMap((page) => linksOf(page).map((link) => ({ link, page })));
  expect(links.length).toBeGreaterThan(50);
  const broken: string[] = [];
  for (const { link, page } of links) {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? page.path : relative(ROOT, join(ROOT, dirname(page.path), file));
    const isThere = (await missing([target], ["."])).length === 0;
    if (!isThere || (anchor !== undefined && anchors.get(target)?.has(anchor) !== true))
      broken.push(`${page.path}: ${link}`);
  }
  expect(broken).toEqual([]);
});

test("README.md → at most 150 lines", async () => {
  const { text } = await readPage("README.md");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
});

test("src/README.md: named files and folders → exist", async () => {
  const { text } = await readPage("src/README.md");
  const map = text.slice(text.indexOf("## From a configuration file"), text.indexOf("## Words"));
  const named = [...map.matchAll(/`([a-z]+(?:\/[\w.-]+)+)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(await missing(named, ["src", "."])).toEqual([]);
});

test("src/README.md: rooms → every folder of src, with about the lines that it has", async () => {
  const { text } = await readPage("src/README.md");
  const lines = new Map<string, number>();
  for await (const path of glob("src/*/**/*.{ts,tsx}", { cwd: ROOT })) {
    const [, room = ""] = path.split("/");
    const source = await readFile(join(ROOT, path), "utf8");
    lines.set(room, (lines.get(room) ?? 0) + source.split("\n").length);
  }
  const rows = [...text.matchAll(/^\| `(\w+)` +\| (\d+) +\|/gm)].map(([, room = "", size]) => ({
    room,
    size: Number(size),
  }));
  expect(rows.map(({ room }) => room).toSorted()).toEqual([...lines.keys()].toSorted());
  for (const { room, size } of rows) {
    const thousands = (lines.get(room) ?? 0) / 1000;
    expect(Math.abs(thousands - size), `${room} has ${thousands.toFixed(1)} thousand lines`).toBeLessThan(1 + size / 5);
  }
});

/** `scenario 9:`, `scenarios 11 and 16:`, `"12, 13: copied image`, and `41:` at the start of a file's comment. */
const NUMBERS = /\bscenarios? (\d+(?:(?:, | and )\d+)*)\b|(?:["`]|^(?:\/\*| )\*\*? )(\d+(?:, \d+)*): /gim;

test("test/README.md: each scenario → test files that name its number", async () => {
  const { text } = await readPage("test/README.md");
  const rows = [...text.matchAll(/^\| (\d+) +\| [^|]+\| ([^|]+)\|$/gm)];
  expect(rows.length).toBeGreaterThanOrEqual(44);
  expect(rows.map(([, number]) => Number(number))).toEqual(rows.map((_, index) => index + 1));
  const unnamed: string[] = [];
  for (const [, number = "", tests = ""] of rows) {
    const files = [...tests.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => `test/${path}.test.ts`);
    if (files.length === 0) unnamed.push(`${number}: no test`);
    for (const path of files) {
      const source = await readPage(path);
      const named = [...source.text.matchAll(NUMBERS)].flatMap(([, words = "", title = ""]) =>
        `${words} ${title}`.match(/\d+/g),
      );
      if (!named.includes(number)) unnamed.push(`${number}: ${path}`);
    }
  }
  expect(unnamed).toEqual([]);
});

/** Targets of links within the repository. Code in backquotes has none. */
function linksOf(page: Page): readonly string[] {
  const text = proseOf(page).replaceAll(/`[^`\n]*`/g, "code");
  return [...text.matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^\w+:/.test(target));
}

/** Names of the headings, as GitHub makes them: lower case, no punctuation, dashes for blanks, a number for a repeated one. */
function anchorsOf(page: Page): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").trim();
    const name = words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
      .replaceAll(" ", "-");
    let anchor = name;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${name}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

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
