import { beforeEach, describe, expect, test } from "vitest";

import { agentProgram } from "../../../src/agent/commands/table.ts";
import type { ProgramTable } from "../../../src/cli/command-table.ts";
import { operatorProgram } from "../../../src/operator/program.ts";
import { runProgram } from "../../../src/cli/run-program.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import type { Terminal } from "../../../src/platform/terminal.ts";

interface Call {
  readonly command: string;
  readonly flags: object;
  readonly argument: string | undefined;
  readonly second?: string;
}

const calls: Call[] = [];
let out = "";
let err = "";
let interruption = new AbortController();
let isTerminal = false;

beforeEach(() => {
  isTerminal = false;
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
  load: async () => async (flags: object, _context: Context, argument?: string, second?: string) => {
    calls.push({ command: name, flags, argument, ...(second === undefined ? {} : { second }) });
    return outcome();
  },
});

interface Context {
  readonly terminal: Terminal;
}

const table: ProgramTable<object, Context> = {
  name: "tool",
  summary: "A tool.",
  common: [{ flag: "--config <file>", summary: "a file" }],
  commands: [
    { ...command("--setup"), flags: [{ flag: "--dry-run", summary: "only look", needs: "--setup" }] },
    command("check"),
    { ...command("status"), flags: [] },
    {
      ...command("init"),
      flags: [{ flag: "--file <file>", summary: "a file", repeats: true }],
    },
    { ...command("schema"), argument: "DOCUMENT", choices: ["manifest", "config"] },
    { ...command("catalog"), argument: "[ID]" },
    { ...command("robots list"), aliases: ["ls"] },
    { ...command("copies list"), isDefault: true },
    {
      ...command("robots watch"),
      flags: [
        { flag: "--every <seconds>", summary: "how often", needs: "--again", default: "2" },
        { flag: "--again", summary: "more than once" },
        { flag: "--no-wait", summary: "at once" },
        { flag: "--issue", summary: "while it waits", excludes: ["--no-wait", "--config"] },
      ],
    },
    {
      ...command("request"),
      argument: "METHOD [PATH]",
      flags: [{ flag: "--no-browser", summary: "none" }],
    },
    {
      ...command("troubled"),
      load: async () => async (_flags: object, context: Context) => {
        const problem = { kind: "trouble", code: "no-store", what: "there is no store", fix: "make one" };
        context.terminal.problem(problem);
        return 1;
      },
    },
    {
      ...command("busy"),
      load: async () => async (_flags: object, context: Context) => {
        context.terminal.progress("copying", 0.5);
        return 0;
      },
    },
    command("silent", () => 3),
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
  groups: { robots: "robots that are registered" },
  headings: { "The files": ["schema"], "The robots": ["robots"] },
  examples: ["tool check"],
};

function run(...argv: string[]): Promise<number> {
  const terminal = createTerminal({
    stdout: { write: (text) => void (out += text) },
    stderr: { write: (text) => void (err += text), isTTY: isTerminal },
    environment: {},
  });
  return runProgram(table, argv, { version: "1.2.3", terminal, signal: interruption.signal, context: { terminal } });
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
    [["robots", "ls"], { command: "robots list", flags: {}, argument: undefined }],
    [["copies", "--json"], { command: "copies list", flags: { json: true }, argument: undefined }],
    [["--config", "x", "copies"], { command: "copies list", flags: { config: "x" }, argument: undefined }],
    [["request", "GET"], { command: "request", flags: { browser: true }, argument: "GET" }],
    [
      ["request", "GET", "/x", "--no-browser"],
      { command: "request", flags: { browser: false }, argument: "GET", second: "/x" },
    ],
  ])("runProgram: %j → runs the command with its flags", async (argv, call) => {
    expect(await run(...argv)).toBe(0);
    expect(calls).toEqual([call]);
    expect(out + err).toBe("");
  });

  test.each([
    [["stat"], "error: unknown command 'stat'\n(Did you mean status?)"],
    [
      ["robots", "lsit"],
      "error: unknown command 'lsit'\n(Did you mean list?)\n(tool robots --help lists commands and flags)",
    ],
    [["quux"], "error: unknown command 'quux'\n(tool --help"],
    [["check", "--jsn"], "error: unknown option '--jsn'\n(Did you mean --json?)\n(tool check --help lists its flags)"],
    [["robots", "list", "--jsn"], "(tool robots list --help lists its flags)"],
    [["check", "now"], "error: too many arguments for 'check'"],
    [["check", "--config"], "error: option '--config <file>' argument missing"],
    [["schema"], "error: missing required argument 'document'"],
    [["request"], "error: missing required argument 'method'"],
    [["request", "GET", "/x", "y"], "error: too many arguments for 'request'"],
    [["schema", "manifst"], "'manifst' is invalid for argument 'document'. Allowed choices are manifest, config."],
    [["--setup", "check"], "error: option '--setup' does not apply to the command 'check'"],
    [["--dry-run", "status"], "error: option '--dry-run' does not apply to the command 'status'"],
    [["--config", "x", "robots", "lsit"], "(tool robots --help lists commands and flags)"],
    [["robots"], "Usage: tool robots"],
    [["robots", "--config", "x"], "error: unknown option '--config'\n(tool robots --help lists commands and flags)"],
    [
      ["robots", "--every", "3", "ls"],
      "error: unknown option '--every'\n(tool robots --help lists commands and flags)",
    ],
    [["--dry-run"], "error: --dry-run needs --setup"],
    [["robots", "watch", "--every", "3"], "error: --every needs --again"],
    [["robots", "watch", "--issue", "--no-wait"], "error: --issue and --no-wait exclude each other"],
    [["--config", "x", "robots", "watch", "--issue"], "error: --issue and --config exclude each other"],
    [["--setup", "now"], "error: unknown command 'now'"],
    [[], "Usage: tool"],
  ])("runProgram: %j → usage error on stderr: %s", async (argv, expected) => {
    expect(await run(...argv)).toBe(2);
    expect(err).toContain(expected);
    expect(out).toBe("");
    expect(calls).toEqual([]);
  });

  test.each([["--help"], ["-h"], ["check", "--help"], ["--version"]])(
    "runProgram: %j %s → output on stdout",
    async (...argv) => {
      expect(await run(...argv.filter((word) => word !== undefined))).toBe(0);
      expect(out).not.toBe("");
      expect(err).toBe("");
    },
  );

  test("runProgram: help of a command → its flags, the common flags and an example", async () => {
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

  test("runProgram: help → arguments, commands under their headings", async () => {
    await run("request", "--help");
    expect(out).toContain("Usage: tool request [options] <method> [path]");
    out = "";
    await run("--help");
    expect(out).toMatch(/^The files:\n {2}schema .*\n\nThe robots:\n {2}robots /m);
  });

  test("runProgram: help → summary of each command group", async () => {
    await run("--help");
    expect(out).toMatch(/^ {2}robots +robots that are registered$/m);
    out = "";
    await run("robots", "--help");
    expect(out).toContain("robots that are registered\n");
  });

  test("runProgram: `help` → --help; `help WORD` → help of the command", async () => {
    expect(await run("help")).toBe(0);
    expect(out).toContain("Usage: tool [options] [command]");
    out = "";
    expect(await run("help", "robots", "list")).toBe(0);
    expect(out).toContain("Usage: tool robots list|ls [options]");
  });

  test.each([
    [["troubled", "--json"], 1, { code: "no-store", what: "there is no store", fix: "make one" }],
    [["silent", "--json"], 3, { code: "failed", fix: "see what it wrote to stderr" }],
    [["robots", "--json", "list"], 2, { code: "usage", what: "unknown option '--json'" }],
    [
      ["check", "now", "--json"],
      2,
      {
        code: "usage",
        what: expect.stringContaining("too many arguments"),
        fix: "tool --help lists commands and flags",
      },
    ],
    [["check", "--json", "--jsn"], 2, { code: "usage", what: "unknown option '--jsn'\n(Did you mean --json?)" }],
  ])("runProgram: %j → exit code %i, the problem as JSON on stdout", async (argv, exitCode, problem) => {
    expect(await run(...argv)).toBe(exitCode);
    expect(JSON.parse(out)).toMatchObject({ problem });
    expect(JSON.parse(out).problem).not.toHaveProperty("kind");
  });

  test("runProgram: problem without --json → stdout stays empty", async () => {
    expect(await run("troubled")).toBe(1);
    expect(out).toBe("");
  });

  test("runProgram: command ends during its progress → no bar is left", async () => {
    isTerminal = true;
    expect(await run("busy")).toBe(0);
    expect(err).toContain("copying");
    expect(err.endsWith("\r\u001B[K")).toBe(true);
  });

  test("runProgram: interrupted command → exits with 130, however it ends", async () => {
    expect(await run("interrupted")).toBe(130);
    interruption = new AbortController();
    expect(await run("failing-when-interrupted", "--json")).toBe(130);
    expect(out + err).toBe("");
  });

  test("runProgram: bug → thrown", async () => {
    await expect(run("broken")).rejects.toThrow("a bug");
  });
});

test.each([agentProgram, operatorProgram])("$name: flags need and exclude flags of the same command", (program) => {
  for (const row of program.commands) {
    const flags = [...(row.flags ?? []), ...program.common];
    const words = [row.name, ...flags.map(({ flag }) => flag.split(" ")[0])];
    const others = flags.flatMap(({ needs = row.name, excludes = [] }) => excludes.concat(needs));
    expect(words).toEqual(expect.arrayContaining(others));
    expect(new Set(words).size).toBe(words.length);
  }
});
