import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { ProgramTable } from "../../../src/cli/command-table.ts";
import { printCompletion } from "../../../src/cli/completion/completion.ts";
import { createTerminal } from "../../../src/cli/terminal.ts";
import { testFolder } from "../../support/folder.ts";
import { hasProgram } from "../../support/programs/programs.ts";

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
  common: [],
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
      flags: [
        { flag: "--by <what>", summary: "in which order", choices: ["day", "robot"] },
        { flag: "--secret", summary: "not listed", hidden: true },
      ],
      examples: [],
      load,
    },
  ],
  examples: [],
};

/** Candidates of each kind. One echoes the typed text, one contains shell syntax. */
const NAMING_PROGRAM = `#!/bin/sh
shift
kind=$1
shift
echo "$kind-$(echo "$*" | tr ' ' -)"
echo "$kind-line=a"
echo "$kind-it's a name"
echo "$kind-"'$(touch it)'
echo "what stands in the way" >&2
`;

async function script(shell: string, of = table): Promise<string> {
  let text = "";
  const terminal = createTerminal({
    stdout: { write: (part) => void (text += part) },
    stderr: { write() {} },
    environment: {},
  });
  expect(await printCompletion(of, shell, terminal)).toBe(0);
  return text;
}

describe("bash", () => {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "completion-"));
    mkdirSync(join(folder, "here"));
    writeFileSync(join(folder, "here", "a file.yaml"), "");
    mkdirSync(join(folder, "here", "a folder"));
    writeFileSync(join(folder, "completion.bash"), (await script("bash")) + (await script("bash", grouped)));
    writeFileSync(join(folder, "grouped"), NAMING_PROGRAM, { mode: 0o755 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** What bash offers when Tab is pressed after these words. */
  function complete(...words: string[]): readonly string[] {
    const program = `
      source ../completion.bash
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}
      "_\${1//-/_}"
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const output = execFileSync("bash", ["--norc", "-uc", program, "bash", ...words], {
      cwd: join(folder, "here"),
      encoding: "utf8",
      env: { ...process.env, PATH: `${folder}:${process.env["PATH"]}` },
      stdio: ["ignore", "pipe", "inherit"],
    });
    return output.split("\n").filter((word) => word !== "");
  }

  test("bash: sourced script → registers the completion", () => {
    const registered = execFileSync("bash", ["--norc", "-euc", "source completion.bash; complete -p my-tool"], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(registered).toBe("complete -F _my_tool my-tool\n");
  });

  test.each([
    ["my-tool c", "check catalog"],
    ["my-tool --s", "--setup --state-dir"],
    ["my-tool --setup --d", "--dry-run"],
    ["my-tool check --", "--json --config --state-dir --help"],
    ["my-tool check --json --c", "--config"],
    ["my-tool --config x check --j", "--json"],
    ["my-tool --config = x check --j", "--json"],
    ["my-tool --state-dir check ch", "check"],
    ["my-tool schema ", "manifest config --config --state-dir --help"],
    ["my-tool schema m", "manifest"],
    ["my-tool catalog y", "yam.v1"],
    ["my-tool init --type ", "yam.v1 ur5e.v1"],
    ["my-tool init --type = u", "ur5e.v1"],
    ["my-tool init --type =", "yam.v1 ur5e.v1"],
    ["my-tool init --url ", ""],
    ["my-tool nonsense --", ""],
    ["grouped k", "keys"],
    ["grouped keys ", "create list move"],
    ["grouped keys move --s", "--site"],
    ["grouped keys move --label labels-l", "labels-line=a"],
    ["grouped keys move --label labels-line =", "a"],
    ["grouped keys move --label labels-line = a", "a"],
    ["grouped keys move --label labels-line = b", ""],
    ["grouped keys move --label = labels-line = a", "a"],
    ["grouped keys move --by ", "hand"],
    ["grouped keys list --", "--by --help"],
    ["grouped keys list --by ", "day robot"],
  ])("bash: %j → %j", (line, offered) => {
    expect(complete(...line.split(" ")).toSorted()).toEqual(offered.split(" ").filter(Boolean).toSorted());
  });

  test.each([
    [
      ["my-tool", "check", "--config", ""],
      ["a file.yaml", "a folder"],
    ],
    [["my-tool", "check", "--state-dir", ""], ["a folder"]],
    [
      ["grouped", "keys", "move", "keys-"],
      ["keys-\\$\\(touch\\ it\\)", "keys-grouped-keys-move-keys-", "keys-it\\'s\\ a\\ name", "keys-line=a"],
    ],
    [["grouped", "keys", "move", "keys-it\\'s\\ a\\ name", "robots-i"], ["robots-it\\'s\\ a\\ name"]],
    [["grouped", "keys", "move", "--site", "sites-i"], ["sites-it\\'s\\ a\\ name"]],
  ])("bash: words with blanks and quotes: %j → %j", (words, offered) => {
    expect(complete(...words).toSorted()).toEqual([...offered].toSorted());
  });
});

describe("zsh and fish", () => {
  test.each([
    [
      "zsh",
      [
        "'check:find out\\: what'\\''s [wrong]'",
        "'--setup[set up]' \\",
        "'--dry-run[only look]' \\",
        "'--config[the file to read]:file:_files' \\",
        "'--state-dir[where to keep it]:directory:_files -/' \\",
        "'--type[a type]:value:(yam.v1 ur5e.v1)' \\",
        "'--url[where]:value: ' \\",
        "'1: :(manifest config)' \\",
        "'1: :(yam.v1)' \\",
      ],
    ],
    [
      "fish",
      [
        "not __fish_seen_subcommand_from check init schema catalog' -l setup -d 'set up'",
        "not __fish_seen_subcommand_from check init schema catalog' -l dry-run -d 'only look'",
        "not __fish_seen_subcommand_from check init schema catalog' -a check -d 'find out: what\\'s [wrong]'",
        "__fish_seen_subcommand_from check' -l config -d 'the file to read' -r -F",
        "__fish_seen_subcommand_from check' -l state-dir -d 'where to keep it' -x -a '(__fish_complete_directories)'",
        "__fish_seen_subcommand_from init' -l type -d 'a type' -x -a 'yam.v1 ur5e.v1'",
        "__fish_seen_subcommand_from init' -l url -d 'where' -x",
        "__fish_seen_subcommand_from schema' -a 'manifest config'",
        "__fish_seen_subcommand_from catalog' -a 'yam.v1'",
      ],
    ],
  ])("%s: flags of the program, files, folders, suggested and listed values, quoted texts", async (shell, lines) => {
    const written = (await script(shell))
      .split("\n")
      .map((line) => line.trim().replace("complete -c my-tool -n '", ""));
    expect(written).toEqual(expect.arrayContaining(lines));
  });

  test("zsh and fish: command groups, without hidden flags", async () => {
    expect(await script("zsh", grouped)).toMatchInlineSnapshot(`
      "#compdef grouped
      _grouped_names() {
        local -a names=(\${(f)"$(grouped __complete $1 $typed 2>/dev/null)"})
        compadd -a names
      }
      _grouped_keys() {
        local context state state_descr line
        typeset -A opt_args
        local -a commands=(
          'create:make one'
          'move:move one to a robot'
          'list:list them'
        )
        _arguments -C \\
          '1: :->command' \\
          '*:: :->rest' && return
        case $state in
          command) _describe command commands ;;
          rest)
            case $words[1] in
              'create')
                _arguments \\
                  '--help[show help]' \\
                  && return ;;
              'move')
                _arguments \\
                  '--site[where]:value: _grouped_names sites' \\
                  '--by[how]:value:(hand)' \\
                  '--label[which]:value: _grouped_names labels' \\
                  '--help[show help]' \\
                  '1: : _grouped_names keys' \\
                  '2: : _grouped_names robots' \\
                  && return ;;
              'list')
                _arguments \\
                  '--by[in which order]:value:(day robot)' \\
                  '--help[show help]' \\
                  && return ;;
            esac ;;
        esac
      }
      _grouped() {
        local -a typed=($words)
        local context state state_descr line
        typeset -A opt_args
        local -a commands=(
          'keys:keys, and what'\\''s theirs'
        )
        _arguments -C \\
          '--version[print the version]' \\
          '--help[show help]' \\
          '1: :->command' \\
          '*:: :->rest' && return
        case $state in
          command) _describe command commands ;;
          rest)
            case $words[1] in
              'keys') _grouped_keys && return ;;
            esac ;;
        esac
      }
      if [[ $funcstack[1] == _grouped ]]; then _grouped "$@"; else compdef _grouped grouped; fi
      "
    `);
    expect(await script("fish", grouped)).toMatchInlineSnapshot(`
      "# fish completion for grouped
      function __grouped_words
        set -l words
        set -l before
        for word in (commandline -opc)[2..]
          if not contains -- "$before" --site --by --label; and not string match -q -- '-*' $word
            set -a words $word
          end
          set before $word
        end
        test (count $words) -eq $argv[1]
      end
      complete -c grouped -f
      complete -c grouped -n 'not __fish_seen_subcommand_from keys' -l version -d 'print the version'
      complete -c grouped -n 'not __fish_seen_subcommand_from keys' -l help -d 'show help'
      complete -c grouped -n 'not __fish_seen_subcommand_from keys' -a keys -d 'keys, and what\\'s theirs'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and not __fish_seen_subcommand_from create move list' -a create -d 'make one'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from create' -l help -d 'show help'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and not __fish_seen_subcommand_from create move list' -a move -d 'move one to a robot'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from move; and __grouped_words 2' -a '(grouped __complete keys (commandline -opc) 2>/dev/null)'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from move; and __grouped_words 3' -a '(grouped __complete robots (commandline -opc) 2>/dev/null)'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from move' -l site -d 'where' -x -a '(grouped __complete sites (commandline -opc) 2>/dev/null)'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from move' -l by -d 'how' -x -a 'hand'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from move' -l label -d 'which' -x -a '(grouped __complete labels (commandline -opc) 2>/dev/null)'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from move' -l help -d 'show help'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and not __fish_seen_subcommand_from create move list' -a list -d 'list them'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from list' -l by -d 'in which order' -x -a 'day robot'
      complete -c grouped -n '__fish_seen_subcommand_from keys; and __fish_seen_subcommand_from list' -l help -d 'show help'
      "
    `);
  });

  test.skipIf(!hasProgram("zsh"))(
    "zsh: accepts the script (skipped without zsh)",
    { tags: "needs/program" },
    async () => {
      execFileSync("zsh", ["-n"], { input: await script("zsh", grouped) });
    },
  );

  test.skipIf(!hasProgram("fish"))(
    "fish: accepts the script (skipped without fish)",
    { tags: "needs/program" },
    async () => {
      const folder = testFolder("completion");
      const path = join(folder, "grouped.fish");
      writeFileSync(path, await script("fish", grouped));
      writeFileSync(join(folder, "grouped"), NAMING_PROGRAM, { mode: 0o755 });
      const offer = (line: string) => {
        const env = { ...process.env, HOME: folder, PATH: `${folder}:${process.env["PATH"]}` };
        const offered = execFileSync("fish", ["-c", `source ${path}; complete -C '${line}'`], {
          encoding: "utf8",
          env,
        });
        return offered
          .split("\n")
          .filter((text) => text !== "")
          .toSorted();
      };
      expect(offer("grouped keys list --by ")).toEqual(["day\tin which order", "robot\tin which order"]);
      expect(offer("grouped keys move --site sites-i")).toEqual(["sites-it's a name\twhere"]);
      // Each argument has its own kind, regardless of flags between them.
      const names = (kind: string, typed: string) => [
        `${kind}-$(touch it)`,
        `${kind}-grouped-${typed}`,
        `${kind}-it's a name`,
      ];
      expect(offer("grouped keys move ")).toEqual(names("keys", "keys-move"));
      expect(offer("grouped keys move keys-")).toEqual(names("keys", "keys-move"));
      expect(offer("grouped keys move --site hall one ")).toEqual(names("robots", "keys-move---site-hall-one"));
      expect(offer("grouped keys --site=hall move one ")).toEqual(names("robots", "keys---site=hall-move-one"));
      expect(offer("grouped keys move one two ")).toEqual([]);
    },
  );
});
