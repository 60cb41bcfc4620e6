/** Where commands find the store, and what they say when it or the address cannot be used. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { systemFiles } from "../../../src/platform/files/files.ts";
import { commandLine, locateStore } from "../../../src/service/commands/command.ts";
import { parseDatabaseUrl } from "../../../src/service/configuration/readers.ts";
import { storeProblem } from "../../../src/service/kernel/store/store-problem.ts";
import { StoreUnavailableError } from "../../../src/service/kernel/store/unavailable.ts";
import { startProblem } from "../../../src/service/preparation.ts";
import { testFolder } from "../../support/folder.ts";

const URL = "postgres://robots@127.0.0.1/robots";
const KEPT = { kind: "sqlite", dataDirectory: "/srv/kept" } as const;

test.each([
  ["--data", { data: "/srv/flag" }, null, { kind: "sqlite", dataDirectory: "/srv/flag" }],
  ["--data beside a configuration", { data: "/srv/flag" }, KEPT, { kind: "sqlite", dataDirectory: "/srv/flag" }],
  ["--database beside a configuration", { database: URL }, KEPT, { kind: "postgres", url: URL }],
  ["a configuration alone", {}, KEPT, KEPT],
  ["both flags", { data: "/srv/flag", database: URL }, null, { code: "usage" }],
  ["no flag and no configuration", {}, null, { code: "usage" }],
  ["--database with another URL", { database: "https://db.example" }, null, { code: "usage" }],
] as const)("locateStore: %s", async (_what, flags, configured, expected) => {
  expect(await locateStore(flags, configured, systemFiles)).toMatchObject(expected);
});

test("locateStore: a file with the URL → read; one without → refused", async () => {
  const urlFile = join(testFolder("locate-store"), "url");
  const locate = () => locateStore({}, { kind: "postgres-file", urlFile, poolSize: 3 }, systemFiles);
  expect(await locate()).toMatchObject({ code: "database-url-unreadable" });
  await writeFile(urlFile, `${URL}\n`);
  expect(await locate()).toEqual({ kind: "postgres", url: URL, poolSize: 3 });
  await writeFile(urlFile, "password\n");
  expect(await locate()).toMatchObject({ code: "database-url-invalid" });
});

test.each([
  ["postgres://robots@db/robots?sslmode=require", "'postgres://robots@db/robots?sslmode=require'"],
  ["postgres://robots:hunter2@db/robots", "postgres://robots:PASSWORD@db/robots"],
  ["postgres://robots@db/robots?password=hunter2", "'postgres://robots@db/robots?password=PASSWORD'"],
])("commandLine: %s → no password", (database, shown) => {
  expect(commandLine("orgs list", { database })).toBe(`robot-policy-service orgs list --database ${shown}`);
});

test.each(["sec#ret", "a@two#long", "12/34", "12?34", "100%", "a%zz"])(
  "parseDatabaseUrl: the password %s as it is → refused",
  (password) => {
    expect(parseDatabaseUrl(`postgres://policy:${password}@127.0.0.1:5432/policy`)).toBeNull();
    const encoded = parseDatabaseUrl(`postgres://policy:${encodeURIComponent(password)}@127.0.0.1:5432/policy`);
    expect(encoded?.host).toBe("127.0.0.1:5432");
  },
);

function problemOf(code: string, url = URL) {
  const cause = Object.assign(new Error("refused"), { severity: "FATAL", code });
  return storeProblem(new StoreUnavailableError("refused", { cause }), { kind: "postgres", url });
}

test.each([
  ["postgres://robots@db/robots", "database-password-missing"],
  ["postgres://robots:wrong@db/robots", "database-unreachable"],
  ["postgres://robots@db/robots?password=wrong", "database-unreachable"],
])("storeProblem: server refuses the password of %s → %s", (url, code) => {
  expect(problemOf("28P01", url)).toMatchObject({ code });
});

test.each([
  ["3D000", "make the database first, for example: createdb robot-policy"],
  ["53300", "raise max_connections of the server, or lower the pool size of each service"],
  ["57P03", "look for SQLSTATE 57P03 in the log of PostgreSQL"],
])("storeProblem: SQLSTATE %s → %s", (code, fix) => {
  expect(problemOf(code)?.fix).toBe(fix);
});

const failed = (syscall: string, code: string) => Object.assign(new Error(code), { syscall, code });

test.each([
  ["listen", "EACCES", /CAP_NET_BIND_SERVICE/, /AmbientCapabilities=.*port from 1024 on/],
  ["uv_interface_addresses", "ERR_SYSTEM_ERROR", /ERR_SYSTEM_ERROR/, /--listen HOST:PORT/],
  ["getaddrinfo", "ENOTFOUND", /there is no such host/, /--listen HOST:PORT/],
  ["listen", "EADDRINUSE", /another program listens there/, /--listen HOST:PORT/],
])("startProblem: %s → %s", (syscall, code, what, fix) => {
  const problem = startProblem(failed(syscall, code), { store: KEPT, listen: { host: "0.0.0.0", port: 443 } });
  expect(problem).toMatchObject({ code: "cannot-listen", where: "0.0.0.0:443" });
  expect(problem?.what).toMatch(what);
  expect(problem?.fix).toMatch(fix);
});

test("startProblem: database connection fails → its own codes", () => {
  const options = { store: KEPT, listen: { host: "0.0.0.0", port: 80 } };
  expect(startProblem(failed("connect", "EADDRNOTAVAIL"), options)?.code).not.toBe("cannot-listen");
});
