import { expect, test } from "vitest";

import { commandLine } from "../../../src/service/commands/command-line.ts";
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
