import type { CompletedCommand, CompletedFlag, CompletedGroup, Completion } from "./description.ts";
import { allFlags } from "./description.ts";

/** A script for bash ≥ 4.4: `source <(PROGRAM completion bash)`, or a file in /usr/share/bash-completion/completions. */
export function bashCompletion(completion: Completion): string {
  const { program, flags, commands, groups } = completion;
  const name = `_${program.replaceAll("-", "_")}`;
  const with_value = allFlags(completion).filter(({ value }) => value.kind !== "none");
  return `# bash completion for ${program}
${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command= words= i
  # bash takes --flag=value apart into three words.
  if [[ $current == = ]]; then current=; elif [[ $before == = ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${pattern(with_value)})
        [[ \${COMP_WORDS[i + 1]} == = ]] && i=$((i + 1))
        i=$((i + 1)) ;;
      -* | =) ;;
      *) command=\${command:+$command }\${COMP_WORDS[i]} ;;
    esac
  done
  case $before in
${with_value.map(completeValue).join("\n")}
  esac
  case $command in
    '') words='${[...commands, ...groups, ...flags].map(({ name: word }) => word).join(" ")}' ;;
${[...commands.map((command) => completeWords(command.name, command)), ...groups.map(completeGroup)].join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F ${name} ${program}`;
}

function completeGroup({ name, commands }: CompletedGroup): string {
  const words = commands.map((command) => command.name).join(" ");
  const lines = commands.map((command) => completeWords(`${name} ${command.name}`, command));
  return [`    '${name}') words='${words}' ;;`, ...lines].join("\n");
}

function completeWords(name: string, { flags, choices }: CompletedCommand): string {
  const words = [...choices, ...flags.map(({ name: flag }) => flag)];
  return `    '${name}' | '${name} '*) words='${words.join(" ")}' ;;`;
}

function pattern(flags: readonly CompletedFlag[]): string {
  return flags.map(({ name }) => name).join(" | ");
}

function completeValue({ name, value }: CompletedFlag): string {
  switch (value.kind) {
    case "none":
      return "";
    case "file":
      return `    ${name}) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;`;
    case "directory":
      return `    ${name}) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;`;
    case "text":
      return `    ${name}) mapfile -t COMPREPLY < <(compgen -W '${value.suggestions.join(" ")}' -- "$current"); return ;;`;
  }
}
