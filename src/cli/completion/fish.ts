import {
  allFlags,
  COMPLETE,
  type CompletedCommand,
  type CompletedFlag,
  type CompletedGroup,
  type Completion,
  hasNames,
} from "./description.ts";

/** A script for fish: `PROGRAM completion fish > ~/.config/fish/completions/PROGRAM.fish`. */
export function fishCompletion(completion: Completion): string {
  const { program, flags, commands, groups } = completion;
  const noneYet = `not ${seen([...commands, ...groups])}`;
  return [
    `# fish completion for ${program}`,
    ...(hasNames(completion) ? [countWords(completion)] : []),
    `complete -c ${program} -f`,
    ...flags.map((flag) => completeFlag(program, noneYet, flag)),
    ...commands.flatMap((command) => completeCommand(program, noneYet, seen([command]), 1, command)),
    ...groups.flatMap((group) => completeGroup(program, noneYet, group)),
  ].join("\n");
}

function completeGroup(program: string, noneYet: string, group: CompletedGroup): readonly string[] {
  const chosen = seen([group]);
  const noneOfGroup = `${chosen}; and not ${seen(group.commands)}`;
  return [
    `complete -c ${program} -n ${quote(noneYet)} -a ${group.name} -d ${quote(group.summary)}`,
    ...group.commands.flatMap((command) =>
      completeCommand(program, noneOfGroup, `${chosen}; and ${seen([command])}`, 2, command),
    ),
  ];
}

/** @param words of the command itself. */
function completeCommand(
  program: string,
  noneYet: string,
  chosen: string,
  words: number,
  { name, summary, flags, choices, names }: CompletedCommand,
): readonly string[] {
  return [
    `complete -c ${program} -n ${quote(noneYet)} -a ${name} -d ${quote(summary)}`,
    ...(choices.length === 0 ? [] : [`complete -c ${program} -n ${quote(chosen)} -a ${quote(choices.join(" "))}`]),
    ...names.map((each, index) => {
      const here = `${chosen}; and ${wordsFunction(program)} ${words + index}`;
      return `complete -c ${program} -n ${quote(here)} -a ${askFor(program, each)}`;
    }),
    ...flags.map((flag) => completeFlag(program, chosen, flag)),
  ];
}

/** A function that is true after the given number of words, without flags and their values: each argument has names of its own. */
function countWords(completion: Completion): string {
  const { program } = completion;
  const withValue = allFlags(completion).filter(({ value }) => value.kind !== "none");
  return `function ${wordsFunction(program)}
  set -l words
  set -l before
  for word in (commandline -opc)[2..]
    if not contains -- "$before" ${withValue.map(({ name }) => name).join(" ")}; and not string match -q -- '-*' $word
      set -a words $word
    end
    set before $word
  end
  test (count $words) -eq $argv[1]
end`;
}

function wordsFunction(program: string): string {
  return `__${program.replaceAll("-", "_")}_words`;
}

function seen(words: readonly { readonly name: string }[]): string {
  return `__fish_seen_subcommand_from ${words.map(({ name }) => name).join(" ")}`;
}

function completeFlag(program: string, condition: string, { name, summary, value }: CompletedFlag): string {
  const start = `complete -c ${program} -n ${quote(condition)} -l ${name.replace(/^--/, "")} -d ${quote(summary)}`;
  switch (value.kind) {
    case "none":
      return start;
    case "file":
      return `${start} -r -F`;
    case "directory":
      return `${start} -x -a '(__fish_complete_directories)'`;
    case "names":
      return `${start} -x -a ${askFor(program, value.of)}`;
    case "text":
      return value.suggestions.length === 0 ? `${start} -x` : `${start} -x -a ${quote(value.suggestions.join(" "))}`;
  }
}

function askFor(program: string, names: string): string {
  return `'(${program} ${COMPLETE} ${names} (commandline -opc) 2>/dev/null)'`;
}

/** In fish, a single-quoted text needs escapes only for the quote and the backslash. */
function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
