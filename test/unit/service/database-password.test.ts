import { expect, test } from "vitest";

import { commandLine } from "../../../src/service/commands/command.ts";
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
const NONSENSE = "make sure that PostgreSQL runs there";

const COMMON_STATES =
  "08001 08P01 28000 28P01 3D000 3F000 42501 25006 53000 53100 53200 53300 55000 57014 57P01 57P03 58030 XX001";

test.each(COMMON_STATES.split(" "))(
  "storeProblem: SQLSTATE %s → a remedy, and not one for a server that does not answer",
  (code) => {
    const cause = Object.assign(new Error("refused"), { severity: "FATAL", code });
    const problem = storeProblem(new StoreUnavailableError("refused", { cause }), {
      kind: "postgres",
      url: URL_OF_ONE,
    });
    expect(problem?.fix).not.toMatch(/SQLSTATE/);
    expect(problem?.fix).not.toContain(NONSENSE);
  },
);

test("storeProblem: any other SQLSTATE → named, with where to look", () => {
  const cause = Object.assign(new Error("refused"), { severity: "FATAL", code: "0Z002" });
  const problem = storeProblem(new StoreUnavailableError("refused", { cause }), { kind: "postgres", url: URL_OF_ONE });
  expect(problem?.fix).toBe("look up SQLSTATE 0Z002 in the log of PostgreSQL");
});

test.each(["sec#ret", "12#34", "a@two#long", "12/34", "sec/ret", "12?34", "100%", "a%zz"])(
  "parseDatabaseUrl: the password %s as it is → refused",
  (password) => {
    expect(parseDatabaseUrl(`postgres://policy:${password}@127.0.0.1:5432/policy`)).toBeNull();
    const encoded = parseDatabaseUrl(`postgres://policy:${encodeURIComponent(password)}@127.0.0.1:5432/policy`);
    expect(encoded?.host).toBe("127.0.0.1:5432");
  },
);
