/** The references say what the code says; `vitest run test/unit/pages/references.test.ts -u` rewrites them. */
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { FINDING_CODES } from "../../../scripts/manual/findings.ts";
import { REFERENCES } from "../../../scripts/manual/references.ts";
import { readPage, ROOT } from "../../support/documents/pages.ts";

test.each(Object.entries(REFERENCES))("%s → as generated; with -u it is rewritten", async (path, generated) => {
  // Nothing without a meaning.
  expect(generated).not.toMatch(/^\| `[^`]+` +\| +(?:\||undefined|[-\d.]+ to |More than |At least |One of )/m);
  await expect(generated).toMatchFileSnapshot(join(ROOT, path));
});

/** Code of a finding as a literal: of a mistake, a refusal, a report of a check, or the list of the fingerprinter. */
const CODES = [
  /\bid[:=] ?\s*"([a-z]+_[a-z_]+|rejected|replaced|missing)"/g,
  /\bid = "([a-z_]+)"/g,
  /\.(?:error|warning)\(\s*"([a-z_]+)"/g,
  /\b(?:formed|unreadable|cannotHash)\(\s*"([a-z_]+)"/g,
  /\breport\(check, "([a-z_]+)"/g,
  /^ {4}\| "((?:file|device)_[a-z]+)"/gm,
];
/** They also word findings of files that only the service and the operator's command line read. */
const FOLDERS = "src/{agent,documents,look,manifest}/**/*.ts";

test("codes of findings in the code → each in the reference of the agent or the specification of the manifest", async () => {
  const sources = await Promise.all(
    (await Array.fromAsync(glob(FOLDERS, { cwd: ROOT }))).map((path) => readFile(join(ROOT, path), "utf8")),
  );
  const code = sources.join("\n");
  const named = CODES.flatMap((pattern) => [...code.matchAll(pattern)].map(([, id = ""]) => id));
  const { text } = await readPage("src/manifest/SPECIFICATION.md");
  const specified = [...text.matchAll(/^\| `([a-z_0-9]+)` \| [EW] \|/gm)].map(([, id = ""]) => id);
  expect(specified.length).toBeGreaterThan(50);
  const known = [...FINDING_CODES, ...specified];
  expect(known.length).toBe(new Set(known).size);
  expect(named.filter((id) => !known.includes(id))).toEqual([]);
});
