import { beforeEach, expect, test } from "vitest";

import { GENERAL_SCOPES } from "../../../src/api/wire/scopes.ts";
import { runServiceProgram } from "../../../src/service/program.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";

let out = "";
beforeEach(() => {
  out = "";
});

function run(...argv: string[]): Promise<number> {
  const terminal = createTerminal({
    stdout: { write: (text) => void (out += text) },
    stderr: { write() {} },
    environment: {},
  });
  const { signal } = new AbortController();
  const readInput = async () => "";
  const none = {
    openQuestions: () => null,
    openPerson: () => null,
    readInput,
    readSecret: async () => null,
    stderr: process.stderr,
    environment: {},
    onHangup() {},
    divertSignals: () => ({ [Symbol.dispose]() {} }),
    stopWithTerminal() {},
    program: "robot-policy-service",
    processId: 1,
    userId: 0,
  };
  return runServiceProgram(argv, { ...none, terminal, signal });
}

test("--help: a summary of each command and group", async () => {
  expect(await run("--help")).toBe(0);
  const commands = /\nCommands:\n((?: .*\n)+)/.exec(out)?.[1] ?? "";
  const undescribed = commands.split("\n").filter((line) => /^ {2}\S/.test(line) && !/^ {2}\S.* {2,}\S/.test(line));
  expect(commands).toContain("keys ");
  expect(undescribed).toEqual([]);
});

test("keys create --help: lists the scopes", async () => {
  expect(await run("keys", "create", "--help")).toBe(0);
  for (const scope of GENERAL_SCOPES) expect(out).toContain(scope);
});
