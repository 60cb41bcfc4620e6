import type { CompletedCommand, CompletedFlag, Completion } from "./description.ts";

/** A script for fish: `PROGRAM completion fish > ~/.config/fish/completions/PROGRAM.fish`. */
export function fishCompletion({ program, flags, commands }: Completion): string {
  const none_yet = `not __fish_seen_subcommand_from ${commands.map(({ name }) => name).join(" ")}`;
  return [
    `# fish completion for ${program}`,
    `complete -c ${program} -f`,
    ...flags.map((flag) => completeFlag(program, none_yet, flag)),
    ...commands.flatMap((command) => completeCommand(program, none_yet, command)),
  ].join("\n");
}

function completeCommand(program: string, none_yet: string, command: CompletedCommand): readonly string[] {
  const { name, summary, flags, choices } = command;
  const chosen = `__fish_seen_subcommand_from ${name}`;
  return [
    `complete -c ${program} -n ${quote(none_yet)} -a ${name} -d ${quote(summary)}`,
    ...(choices.length === 0 ? [] : [`complete -c ${program} -n ${quote(chosen)} -a ${quote(choices.join(" "))}`]),
    ...flags.map((flag) => completeFlag(program, chosen, flag)),
  ];
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
    case "text":
      return value.suggestions.length === 0 ? `${start} -x` : `${start} -x -a ${quote(value.suggestions.join(" "))}`;
  }
}

/** In fish, too, a single-quoted text holds everything but itself and its escape. */
function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
