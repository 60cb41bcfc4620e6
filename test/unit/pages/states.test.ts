import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { statesTable } from "../../../scripts/manual/states.ts";

const PAGE = join(import.meta.dirname, "../../../src/agent/README.md");

test("src/agent/README.md: the table of states → as generated; `vitest run test/unit/pages/states.test.ts -u` rewrites it", async () => {
  const text = await readFile(PAGE, "utf8");
  expect(text.match(/^\| state /gm)).toHaveLength(1);
  await expect(text.replace(/^\| state (?:.*\n)(?:\|.*\n)*/m, `${statesTable()}\n`)).toMatchFileSnapshot(PAGE);
});
