import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, it } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { locateStore } from "../../../../src/service/commands/command.ts";
import { testFolder } from "../../../support/folder.ts";

const URL = "postgres://lab@db.example/robots";
const KEPT = { kind: "sqlite", dataDirectory: "/srv/kept" } as const;

it.each([
  ["--data", { data: "/srv/flag" }, null, { kind: "sqlite", dataDirectory: "/srv/flag" }],
  ["--data beside a configuration", { data: "/srv/flag" }, KEPT, { kind: "sqlite", dataDirectory: "/srv/flag" }],
  ["--database beside a configuration", { database: URL }, KEPT, { kind: "postgres", url: URL }],
  ["a configuration alone", {}, KEPT, KEPT],
  ["both flags", { data: "/srv/flag", database: URL }, null, { code: "usage" }],
  ["no flag and no configuration", {}, null, { code: "usage" }],
  ["--database with another URL", { database: "https://db.example" }, null, { code: "usage" }],
] as const)("locateStore: %s", async (_what, flags, keep, expected) => {
  expect(await locateStore(flags, keep, systemFiles)).toMatchObject(expected);
});

it("locateStore: a file with the URL → read; one without → refused", async () => {
  const urlFile = join(testFolder("locate-store"), "url");
  const locate = () => locateStore({}, { kind: "postgres-file", urlFile, poolSize: 3 }, systemFiles);
  expect(await locate()).toMatchObject({ code: "database-url-unreadable" });
  await writeFile(urlFile, `${URL}\n`);
  expect(await locate()).toEqual({ kind: "postgres", url: URL, poolSize: 3 });
  await writeFile(urlFile, "password\n");
  expect(await locate()).toMatchObject({ code: "database-url-invalid" });
});
