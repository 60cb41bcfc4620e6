import { expect, test } from "vitest";

import { commandLine } from "../../../src/service/commands/command-line.ts";
import { parseDatabaseUrl } from "../../../src/service/configuration/readers.ts";
import { storeProblem } from "../../../src/service/kernel/store/store-problem.ts";
import { StoreUnavailableError } from "../../../src/service/kernel/store/unavailable.ts";

test.each([
  ["postgres://robots@db/robots?sslmode=require", "'postgres://robots@db/robots?sslmode=require'"],
  ["postgres://robots:hunter2@db/robots", "postgres://robots:PASSWORD@db/robots"],
  ["postgres://robots@db/robots?password=hunter2", "'postgres://robots@db/robots?password=PASSWORD'"],
  ["postgres://db/robots?user=robots&password=hunter2", "'postgres://db/robots?user=robots&password=PASSWORD'"],
])("commandLine: %s → no password", (database, shown) => {
  expect(commandLine("orgs list", { database })).toBe(`robot-policy-service orgs list --database ${shown}`);
});

test.each([
  ["postgres://robots@db/robots", "database-password-missing"],
  ["postgres://robots:wrong@db/robots", "database-unreachable"],
  ["postgres://robots@db/robots?password=wrong", "database-unreachable"],
])("storeProblem: server refuses the password of %s → %s", (url, code) => {
  const cause = Object.assign(new Error("password authentication failed"), { code: "28P01" });
  const error = new StoreUnavailableError(cause.message, { cause });
  expect(storeProblem(error, { kind: "postgres", url })).toMatchObject({ code });
});

const URL_OF_ONE = "postgres://robots@127.0.0.1/robots";

test.each([
  ["3D000", "make the database first, for example: createdb robot-policy"],
  ["53300", "raise max_connections of the server, or lower the pool size of each service"],
  ["57P03", "look for SQLSTATE 57P03 in the log of PostgreSQL"],
])("storeProblem: SQLSTATE %s → %s", (code, fix) => {
  const cause = Object.assign(new Error("refused"), { severity: "FATAL", code });
  const problem = storeProblem(new StoreUnavailableError("refused", { cause }), { kind: "postgres", url: URL_OF_ONE });
  expect(problem?.fix).toBe(fix);
});

test.each(["sec#ret", "12#34", "a@two#long", "12/34", "sec/ret", "12?34", "100%", "a%zz"])(
  "parseDatabaseUrl: the password %s as it is → refused",
  (password) => {
    expect(parseDatabaseUrl(`postgres://policy:${password}@127.0.0.1:5432/policy`)).toBeNull();
    const encoded = parseDatabaseUrl(`postgres://policy:${encodeURIComponent(password)}@127.0.0.1:5432/policy`);
    expect(encoded?.host).toBe("127.0.0.1:5432");
  },
);
