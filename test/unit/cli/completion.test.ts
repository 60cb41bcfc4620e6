import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { ProgramTable } from "../../../src/cli/command-table.ts";
import { complete, completionScripts } from "../../../src/cli/completion.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import { testFolder } from "../../support/folder.ts";
import { startProgram } from "../../support/programs/children.ts";
import { hasProgram } from "../../support/programs/programs.ts";
import { PATIENCE_MS } from "../../support/run/patience.ts";

const load = async () => async () => 0;
const table: ProgramTable<object, null> = {
  name: "my-tool",
  summary: "A tool.",
  common: [
    { flag: "--config <file>", summary: "the file to read" },
    { flag: "--state-dir <dir>", summary: "where to keep it" },
  ],
  commands: [
    {
      name: "--setup",
      summary: "set up",
      flags: [{ flag: "--dry-run", summary: "only look" }],
      examples: [],
      load,
    },
    {
      name: "check",
      summary: "find out: what's [wrong]",
      flags: [{ flag: "--json", summary: "as JSON" }],
      examples: [],
      load,
    },
    {
      name: "init",
      summary: "begin",
      flags: [
        { flag: "--type <id>", summary: "a type", suggestions: ["yam.v1", "ur5e.v1"] },
        { flag: "--url <url>", summary: "where" },
      ],
      examples: [],
      load,
    },
    {
      name: "schema",
      summary: "print it",
      flags: [],
      argument: "DOCUMENT",
      choices: ["manifest", "config"],
      examples: [],
      load,
    },
    { name: "catalog", summary: "list", flags: [], argument: "[ID]", suggestions: ["yam.v1"], examples: [], load },
  ],
  examples: [],
};

const grouped: ProgramTable<object, null> = {
  name: "grouped",
  summary: "A tool with groups of commands.",
  common: [{ flag: "--context <name>", summary: "which one" }],
  namesOfKind: async (kind, given) => [
    `${kind}-line=a`,
    `${kind}-it's a name`,
    `${kind}-$(touch it)`,
    `${kind}\u0007`,
    JSON.stringify(given),
  ],
  groups: { keys: "keys, and what's theirs" },
  commands: [
    { name: "keys create", summary: "make one", flags: [], examples: [], load },
    {
      name: "keys move",
      summary: "move one to a robot",
      argument: "KEY ROBOT",
      names: ["keys", "robots"],
      flags: [
        { flag: "--site <site>", summary: "where", names: "sites" },
        { flag: "--by <what>", summary: "how", choices: ["hand"] },
        { flag: "--label <name=value>", summary: "which", names: "labels" },
      ],
      examples: [],
      load,
    },
    {
      name: "keys list",
      summary: "list them",
      flags: [{ flag: "--by <what>", summary: "in which order", choices: ["day", "robot"] }],
      examples: [],
      load,
    },
  ],
  examples: [],
};

/** What `__complete` prints for these words: the kind, and the words that it offers. */
async function offer(table: ProgramTable<object, null>, ...words: string[]): Promise<readonly string[]> {
  let text = "";
  const terminal = createTerminal({
    stdout: { write: (part) => void (text += part) },
    stderr: { write() {} },
    environment: {},
  });
  expect(await complete(table, words, null, terminal)).toBe(0);
  return text.trimEnd().split("\n");
}

const PROGRAMS = { "my-tool": table, grouped };

test.each<[line: string, offered: string]>([
  ["my-tool ", "words check init schema catalog"],
  ["my-tool c", "words check catalog"],
  ["my-tool --s", "words --setup --state-dir"],
  ["my-tool --setup --d", "words --dry-run"],
  ["my-tool check --", "words --json --config --state-dir --help"],
  ["my-tool check --json --c", "words --config"],
  ["my-tool --config x check --j", "words --json"],
  ["my-tool --config=x check --j", "words --json"],
  ["my-tool --state-dir check ch", "words check"],
  ["my-tool check --config ", "files"],
  ["my-tool check --state-dir ", "folders"],
  ["my-tool schema ", "words manifest config"],
  ["my-tool schema m", "words manifest"],
  ["my-tool catalog y", "words yam.v1"],
  ["my-tool init --type ", "words yam.v1 ur5e.v1"],
  ["my-tool init --url ", "words"],
  ["my-tool nonsense ", "words"],
  ["grouped k", "words keys"],
  ["grouped keys ", "words create move list"],
  ["grouped keys move --s", "words --site"],
  ["grouped keys move --label labels-l", "words labels-line=a"],
  ["grouped keys move --site=x r", "words"],
  ["grouped keys move --by ", "words hand"],
  ["grouped keys list --", "words --by --context --help"],
  ["grouped keys list --by ", "words day robot"],
  ["grouped keys move one r", "words robots-line=a robots-it's robots-$(touch"],
  ["grouped --context lab keys move {", 'words {"context":"lab"}'],
])("complete: %j → %j", async (line, offered) => {
  const [program, ...words] = line.split(" ");
  const lines = await offer(program === "grouped" ? grouped : PROGRAMS["my-tool"], ...words);
  expect(lines.map((each) => each.split("\t")[0]?.split(" ")[0])).toEqual(offered.split(" "));
});

test("complete: words → with their summaries", async () => {
  expect(await offer(grouped, "keys", "m")).toEqual(["words", "move\tmove one to a robot"]);
  expect(await offer(grouped, "")).toEqual(["words", "keys\tkeys, and what's theirs"]);
});

/** Answers as a program does: words of which one contains shell syntax, and files after --file. Run as a command, it writes its arguments down. */
const ANSWERS = `#!/bin/sh
if [ "$1" != __complete ]; then printf '%s\\n' "$@" > "$HOME/arguments.new"; exec mv "$HOME/arguments.new" "$HOME/arguments"; fi
for last; do :; done
offer() { case "$1" in "$last"*) printf '%s\\tsummary: of it\\n' "$1" ;; esac; }
case "$*" in
  *--file*) echo files ;;
  *) echo words; for word in line=a "it's a name" '$(touch it)'; do offer "$word"; done ;;
esac
`;

const SHELLS = {
  bash: { start: "bash --norc --noprofile -i", setup: "source ./script" },
  zsh: { start: "zsh -f -i", setup: "autoload -U compinit; compinit -D -u; source ./script" },
  fish: { start: "fish --no-config -i", setup: "source ./script" },
} as const;

describe.each(["bash", "zsh", "fish"] as const)("%s at a terminal", (shell) => {
  const lacks = ["script", shell].filter((program) => !hasProgram(program));

  test.skipIf(lacks.length > 0).each<[typed: string, ran: readonly string[]]>([
    ["grouped keys l", ["keys", "line=a"]],
    ["grouped keys it", ["keys", "it's a name"]],
    ["grouped keys \\$", ["keys", "$(touch it)"]],
    ["grouped keys --label l", ["keys", "--label", "line=a"]],
    ["grouped keys --file a", ["keys", "--file", "a file.yaml"]],
  ])(
    `%s and Tab → %j${lacks.length === 0 ? "" : ` (skipped without ${lacks.join(", ")})`}`,
    { tags: "needs/program" },
    async (typed, ran) => {
      const folder = testFolder("completion");
      writeFileSync(join(folder, "grouped"), ANSWERS, { mode: 0o755 });
      writeFileSync(join(folder, "script"), completionScripts("grouped").get(shell) ?? "");
      writeFileSync(join(folder, "a file.yaml"), "");
      const { start, setup } = SHELLS[shell];
      const words = ["script", "--quiet", "--flush", "--command", `cd ${folder} && exec ${start}`, "/dev/null"];
      const environment = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, TERM: "xterm", LANG: "C.UTF-8" };
      const { child, output } = startProgram(words, environment);
      onTestFinished(() => void child.kill("SIGKILL"));
      // What is typed is echoed, so the word is written differently.
      child.stdin?.write(`${setup}; echo rea""dy\r`);
      await expect.poll(output, { timeout: PATIENCE_MS }).toContain("ready");
      child.stdin?.write(`${typed}\t\r`);
      const path = join(folder, "arguments");
      await expect.poll(() => existsSync(path), { timeout: PATIENCE_MS }).toBe(true);
      expect(readFileSync(path, "utf8").trimEnd().split("\n")).toEqual(ran);
    },
  );
});
