import { beforeEach, describe, expect, test } from "vitest";

import type { ProgramTable } from "../../../src/cli/command-table.ts";
import { runProgram } from "../../../src/cli/run-program.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";

interface Call {
  readonly command: string;
  readonly flags: object;
  readonly argument: string | undefined;
}

const calls: Call[] = [];
let out = "";
let err = "";
let interruption = new AbortController();

beforeEach(() => {
  calls.length = 0;
  out = "";
  err = "";
  interruption = new AbortController();
});

const command = (name: string, outcome: () => number = () => 0) => ({
  name,
  summary: `does ${name}`,
  flags: [{ flag: "--json", summary: "as JSON" }],
  examples: [`tool ${name}`],
  load: async () => async (flags: object, _context: null, argument: string | undefined) => {
    calls.push({ command: name, flags, argument });
    return outcome();
  },
});

const table: ProgramTable<object, null> = {
  name: "tool",
  summary: "A tool.",
  common: [{ flag: "--config <file>", summary: "a file" }],
  commands: [
    { ...command("--setup"), flags: [{ flag: "--dry-run", summary: "only look" }] },
    command("check"),
    { ...command("status"), flags: [] },
    {
      ...command("init"),
      flags: [{ flag: "--file <file>", summary: "a file", repeats: true }],
    },
    { ...command("schema"), argument: "DOCUMENT", choices: ["manifest", "config"] },
    { ...command("catalog"), argument: "[ID]" },
    command("robots list"),
    {
      ...command("interrupted", () => {
        interruption.abort(new Error("interrupted"));
        throw interruption.signal.reason;
      }),
    },
    {
      ...command("failing-when-interrupted", () => {
        interruption.abort(new Error("interrupted"));
        return 4;
      }),
    },
    {
      ...command("broken", () => {
        throw new Error("a bug");
      }),
    },
  ],
  examples: ["tool check"],
};

function run(...argv: string[]): Promise<number> {
  const terminal = createTerminal({
    stdout: { write: (text) => void (out += text) },
    stderr: { write: (text) => void (err += text) },
    environment: {},
  });
  return runProgram(table, argv, { version: "1.2.3", terminal, signal: interruption.signal, context: null });
}

describe("runProgram", () => {
  test.each([
    [["check"], { command: "check", flags: {}, argument: undefined }],
    [
      ["check", "--json", "--config", "x"],
      { command: "check", flags: { json: true, config: "x" }, argument: undefined },
    ],
    [["--config", "x", "check"], { command: "check", flags: { config: "x" }, argument: undefined }],
    [["--config", "x", "check", "--config=y"], { command: "check", flags: { config: "y" }, argument: undefined }],
    [["--setup", "--dry-run"], { command: "--setup", flags: { setup: true, dryRun: true }, argument: undefined }],
    [["init", "--file", "a", "--file", "b"], { command: "init", flags: { file: ["a", "b"] }, argument: undefined }],
    [["schema", "config"], { command: "schema", flags: {}, argument: "config" }],
    [["catalog"], { command: "catalog", flags: {}, argument: undefined }],
    [["catalog", "some.id"], { command: "catalog", flags: {}, argument: "some.id" }],
    [["robots", "list"], { command: "robots list", flags: {}, argument: undefined }],
  ])("runProgram: %j runs the command with its flags", async (argv, call) => {
    expect(await run(...argv)).toBe(0);
    expect(calls).toEqual([call]);
    expect(out + err).toBe("");
  });

  test.each([
    [["stat"], "error: unknown command 'stat'\n(Did you mean status?)"],
    [["robots", "lsit"], "error: unknown command 'lsit'\n(Did you mean list?)"],
    [["quux"], "error: unknown command 'quux'\n(tool --help"],
    [["check", "--jsn"], "error: unknown option '--jsn'\n(Did you mean --json?)"],
    [["check", "now"], "error: too many arguments for 'check'"],
    [["check", "--config"], "error: option '--config <file>' argument missing"],
    [["schema"], "error: missing required argument 'document'"],
    [["schema", "manifst"], "error: 'manifst' is not one of manifest, config\n(Did you mean manifest?)"],
    [["--setup", "check"], "error: option '--setup' has no meaning for the command 'check'"],
    [["--dry-run", "status"], "error: option '--dry-run' has no meaning for the command 'status'"],
    [["--setup", "now"], "error: unknown command 'now'"],
    [["--dry-run"], "Usage: tool"],
    [[], "Usage: tool"],
  ])("runProgram: %j is a mistake of usage, told on stderr: %s", async (argv, told) => {
    expect(await run(...argv)).toBe(2);
    expect(err).toContain(told);
    expect(out).toBe("");
    expect(calls).toEqual([]);
  });

  test.each([["--help"], ["-h"], ["check", "--help"], ["--version"]])(
    "runProgram: %j %s is a wish, granted on stdout",
    async (...argv) => {
      expect(await run(...argv.filter((word) => word !== undefined))).toBe(0);
      expect(out).not.toBe("");
      expect(err).toBe("");
    },
  );

  test("runProgram: help of a command has its flags, the common ones and an example", async () => {
    await run("check", "--help");
    expect(out).toMatchInlineSnapshot(`
      "Usage: tool check [options]

      does check

      Options:
        --json           as JSON
        --config <file>  a file
        -h, --help       display help for command

      Examples:
        tool check
      "
    `);
  });

  test("runProgram: an interrupted command exits with 130, however it ends", async () => {
    expect(await run("interrupted")).toBe(130);
    interruption = new AbortController();
    expect(await run("failing-when-interrupted")).toBe(130);
  });

  test("runProgram: a bug is no failure of the person, and is not hidden", async () => {
    await expect(run("broken")).rejects.toThrow("a bug");
  });
});
