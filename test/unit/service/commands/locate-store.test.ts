import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, it } from "vitest";

import { systemFiles } from "../../../../src/platform/files/files.ts";
import { locateStore } from "../../../../src/service/commands/store/locate-store.ts";
import { testFolder } from "../../../support/folder.ts";

const URL = "postgres://lab@db.example/robots";
const KEPT = { kind: "data", directory: "/srv/kept" } as const;

const sqlite = (dataDirectory: string) => ({ state: "located", store: { kind: "sqlite", dataDirectory } });
const refused = (code: string) => ({ state: "refused", problem: { code } });

it.each([
  ["--data", { data: "/srv/flag" }, null, sqlite("/srv/flag")],
  ["--data beside a configuration", { data: "/srv/flag" }, KEPT, sqlite("/srv/flag")],
  ["--database beside a configuration", { database: URL }, KEPT, { store: { kind: "postgres", url: URL } }],
  ["a configuration alone", {}, KEPT, sqlite("/srv/kept")],
  ["both flags", { data: "/srv/flag", database: URL }, null, refused("usage")],
  ["no flag and no configuration", {}, null, refused("usage")],
  ["--database with another URL", { database: "https://db.example" }, null, refused("usage")],
] as const)("locateStore: %s", async (_what, flags, keep, expected) => {
  expect(await locateStore(flags, keep, systemFiles)).toMatchObject(expected);
});

it("locateStore: a file with the URL → read; one without → refused", async () => {
  const urlFile = join(testFolder("locate-store"), "url");
  const locate = () => locateStore({}, { kind: "database-file", urlFile, poolSize: 3 }, systemFiles);
  expect(await locate()).toMatchObject(refused("database-url-unreadable"));
  await writeFile(urlFile, `${URL}\n`);
  expect(await locate()).toEqual({ state: "located", store: { kind: "postgres", url: URL, poolSize: 3 } });
  await writeFile(urlFile, "password\n");
  expect(await locate()).toMatchObject(refused("database-url-invalid"));
});
