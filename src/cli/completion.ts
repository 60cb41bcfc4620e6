/**
 * Shell completion: the script of a shell only calls the program, `PROGRAM __complete WORDS…`, with the words typed so far. The answer is made of
 * the rows that commander parses: a line with what to offer (`words`, `files` or `folders`), then each word with a tab and its summary.
 */
import { visible } from "../platform/text/visible.ts";
import { EXIT, type ExitCode, type Terminal } from "../platform/terminal.ts";
import { attributeOf, type CommandRow, type FlagRow, type ProgramTable, wordOf } from "./command-table.ts";

/** The hidden command that the scripts call. */
export const COMPLETE = "__complete";

interface Offered {
  readonly kind: "words" | "files" | "folders";
  readonly words: readonly (readonly [word: string, summary: string])[];
}

/** Prints what completes the last of these words. */
export async function complete<Flags, Context>(
  table: ProgramTable<Flags, Context>,
  typed: readonly string[],
  context: Context,
  terminal: Terminal,
): Promise<ExitCode> {
  const last = typed.at(-1) ?? "";
  const { kind, words } = await offer(table, typed.slice(0, -1), last.startsWith("-"), context);
  terminal.print(kind);
  const offered = new Map(words.filter(([word]) => word.startsWith(last)));
  // The scripts take each line as it is, so names with control characters are left out.
  const isPlain = (word: string) => !/\p{Cc}/u.test(word) && visible(word) === word;
  const lines = [...offered].flatMap(([word, summary]) => (isPlain(word) ? `${word}\t${summary}` : []));
  // One text, because a tab in a printed line would become a blank.
  if (lines.length > 0) terminal.printText(lines.join("\n"));
  return EXIT.ok;
}

type NamesOf = (kind: string) => Promise<readonly string[]>;

async function offer<Flags, Context>(
  table: ProgramTable<Flags, Context>,
  words: readonly string[],
  isFlag: boolean,
  context: Context,
): Promise<Offered> {
  const all = [...table.common, ...table.commands.flatMap(({ flags = [] }) => flags)];
  const isOpen = (index: number) => all.some((row) => takesValue(row) && wordOf(row) === words[index]);
  const plain = words.filter((word, index) => !word.startsWith("-") && !isOpen(index - 1));
  const row = table.commands.find(({ name, aliases = [] }) => {
    const [group = "", command] = name.split(" ");
    return plain[0] === group && (command === undefined || [command, ...aliases].includes(plain[1] ?? ""));
  });
  const namesOf: NamesOf = async (kind) =>
    (await table.namesOfKind?.(kind, commonFlags(table.common, words), context)) ?? [];
  const flags = row === undefined ? programFlags(table) : [...(row.flags ?? []), ...table.common];
  if (isOpen(words.length - 1)) {
    const open = flags.find((each) => wordOf(each) === words.at(-1));
    return open === undefined ? NOTHING : offerValue(open, namesOf);
  }
  if (isFlag) return { kind: "words", words: [...flags, HELP].map((each) => [wordOf(each), each.summary] as const) };
  if (row === undefined) return offerNames(table, plain);
  return offerArgument(row, plain.length - row.name.split(" ").length, table.names ?? {}, namesOf);
}

const NOTHING: Offered = { kind: "words", words: [] };
const HELP: FlagRow = { flag: "--help", summary: "show help" };

/** The flags of every command that were typed, by the names that commander gives them: they may choose the service. */
function commonFlags(common: readonly FlagRow[], words: readonly string[]): object {
  const given = new Map<string, string | true>();
  for (const row of common) {
    const word = wordOf(row);
    const index = words.findIndex((each) => each === word || each.startsWith(`${word}=`));
    if (index === -1) continue;
    const [, ...joined] = words[index]?.split("=") ?? [];
    const value = joined.length > 0 ? joined.join("=") : (words[index + 1] ?? "");
    given.set(attributeOf(word), takesValue(row) ? value : true);
  }
  return Object.fromEntries(given);
}

/** Of the program itself: those of every command, and commands that are flags. */
function programFlags<Flags, Context>({ common, commands }: ProgramTable<Flags, Context>): readonly FlagRow[] {
  const own = commands.filter(({ name }) => name.startsWith("--"));
  const flags = own.flatMap(({ flags: more = [] }) => more);
  const words = own.map(({ name, summary }): FlagRow => ({ flag: name, summary }));
  return [...words, ...flags, ...common, { flag: "--version", summary: "print the version" }];
}

/** The words that continue the name of a command. */
function offerNames<Flags, Context>(table: ProgramTable<Flags, Context>, name: readonly string[]): Offered {
  const words = table.commands.flatMap((row): readonly (readonly [string, string])[] => {
    const parts = row.name.split(" ");
    const next = parts[name.length];
    if (next === undefined || next.startsWith("-") || name.some((word, index) => word !== parts[index])) return [];
    return [[next, parts.length > name.length + 1 ? (table.groups?.[next] ?? "") : row.summary]];
  });
  return { kind: "words", words };
}

async function offerArgument(
  { argument = "", names, choices, suggestions }: CommandRow<never, never>,
  given: number,
  kinds: Readonly<Record<string, string>>,
  namesOf: NamesOf,
): Promise<Offered> {
  const words = argument.split(" ");
  const index = argument.endsWith("...]") ? Math.min(given, words.length - 1) : given;
  const word = words[index] ?? "";
  const kind = names?.[index] ?? kinds[word];
  const fixed = index === 0 ? (choices ?? suggestions ?? []) : [];
  const offered = kind === undefined ? fixed : await namesOf(kind);
  return { kind: word === "FILE" || word === "[FILE]" ? "files" : "words", words: offered.map((each) => [each, ""]) };
}

async function offerValue({ flag, choices, suggestions, names }: FlagRow, namesOf: NamesOf): Promise<Offered> {
  if (flag.endsWith("<file>")) return { kind: "files", words: [] };
  if (flag.endsWith("<dir>")) return { kind: "folders", words: [] };
  const offered = names === undefined ? (choices ?? suggestions ?? []) : await namesOf(names);
  return { kind: "words", words: offered.map((each) => [each, ""]) };
}

function takesValue({ flag }: FlagRow): boolean {
  return flag.includes(" ");
}

/** The command that prints the completion script of a shell. */
export function completionRow(program: string): CommandRow<object, { readonly terminal: Terminal }> {
  return {
    name: "completion",
    summary: "print the completion script of a shell",
    argument: "SHELL",
    choices: ["bash", "zsh", "fish"],
    examples: [
      `source <(${program} completion bash)`,
      `${program} completion zsh > "\${fpath[1]}/_${program}"`,
      `${program} completion fish > ~/.config/fish/completions/${program}.fish`,
    ],
    load:
      async () =>
      async (_flags, { terminal }, shell) => {
        const script = [...completionScripts(program)].find(([each]) => each === shell)?.[1];
        terminal.printText(script?.trimEnd() ?? "");
        return EXIT.ok;
      },
  };
}

/** The script of every shell. */
export function completionScripts(program: string): ReadonlyMap<"bash" | "zsh" | "fish", string> {
  const name = `_${program.replaceAll("-", "_")}`;
  return new Map([
    ["bash", bashScript(program, name)],
    ["zsh", zshScript(program, name)],
    ["fish", fishScript(program, `_${name}`)],
  ]);
}

/** bash ≥ 4.4 takes words apart at = and :, so the line is read as a whole, and what stands before the last of these is cut from each offer. */
function bashScript(program: string, name: string): string {
  return `# bash completion for ${program}
${name}() {
  local -a words; local last cut kind= each
  read -a words <<< "\${COMP_LINE:0:COMP_POINT}x"
  last=\${words[-1]%x} words[-1]=\${words[-1]%x} cut=\${last%"\${last##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r each _; do
    if [[ -z $kind ]]; then kind=$each; continue; fi
    printf -v each %q "$each"
    COMPREPLY+=("\${each#"$cut"}")
  done < <(${program} ${COMPLETE} "\${words[@]:1}" 2>/dev/null)
  [[ $kind == files || $kind == folders ]] || return
  compopt -o filenames 2>/dev/null
  [[ $kind == files ]] && each=-f || each=-d
  mapfile -t COMPREPLY < <(compgen $each -- "\${last#"$cut"}")
}
complete -F ${name} ${program}
`;
}

/** zsh: `PROGRAM completion zsh > "${fpath[1]}/_PROGRAM"`. */
function zshScript(program: string, name: string): string {
  return `#compdef ${program}
${name}() {
  local -a lines=("\${(@f)$(${program} ${COMPLETE} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  case $lines[1] in
    files) _files ;;
    folders) _files -/ ;;
    *)
      local -a offers=("\${(@)lines[2,-1]//:/\\\\:}")
      offers=("\${(@)offers//$'\\t'/:}")
      _describe -t words '${program}' offers ;;
  esac
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi
`;
}

/** fish: `PROGRAM completion fish > ~/.config/fish/completions/PROGRAM.fish`. */
function fishScript(program: string, name: string): string {
  return `# fish completion for ${program}
function ${name}
  set -l lines (${program} ${COMPLETE} (commandline -opc)[2..] (string unescape -- (commandline -ct)) 2>/dev/null)
  switch "$lines[1]"
    case files
      __fish_complete_path (commandline -ct)
    case folders
      __fish_complete_directories (commandline -ct)
    case '*'
      string join \\n -- $lines[2..]
  end
end
complete -c ${program} -f -a '(${name})'
`;
}
