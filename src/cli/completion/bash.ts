import type { CompletedFlag, Completion } from "./description.ts";
import { allFlags } from "./description.ts";

/** A script for bash ≥ 4.4: `source <(PROGRAM completion bash)`, or a file in /usr/share/bash-completion/completions. */
export function bashCompletion(completion: Completion): string {
  const { program, flags, commands } = completion;
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
    '') words='${[...commands, ...flags].map(({ name: word }) => word).join(" ")}' ;;
${commands
  .map(({ name: command, flags: own, choices }) => {
    const words = [...choices, ...own.map(({ name: flag }) => flag)];
    return `    '${command}' | '${command} '*) words='${words.join(" ")}' ;;`;
  })
  .join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F ${name} ${program}`;
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
