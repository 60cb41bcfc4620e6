import {
  allFlags,
  COMPLETE,
  type CompletedCommand,
  type CompletedFlag,
  type CompletedGroup,
  type Completion,
  exceptionalFlags,
  hasNames,
} from "./description.ts";

/** A script for bash ≥ 4.4: `source <(PROGRAM completion bash)`, or a file in /usr/share/bash-completion/completions. */
export function bashCompletion(completion: Completion): string {
  const { program, flags, commands, groups } = completion;
  const name = `_${program.replaceAll("-", "_")}`;
  const withValue = allFlags(completion).filter(({ value }) => value.kind !== "none");
  const values = [
    ...exceptionalFlags(completion).map(({ command, flag }) => completeValue(name, `'${command}'*:${flag.name}`, flag)),
    ...withValue.map((flag) => completeValue(name, `*:${flag.name}`, flag)),
  ];
  return `# bash completion for ${program}
${hasNames(completion) ? askForNames(name, program) : ""}${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} stem= command= words= names= i
  # bash takes --flag=value apart into three words, and --flag name=value into four.
  i=$COMP_CWORD
  if [[ $current == = ]]; then current=; elif [[ $before == = ]]; then i=$((i - 1)); fi
  if [[ \${COMP_WORDS[i]} == = ]]; then
    before=\${COMP_WORDS[i - 1]}
    if [[ $before != -* ]]; then
      stem=$before= before=\${COMP_WORDS[i - 2]}
      [[ $before == = ]] && before=\${COMP_WORDS[i - 3]}
    fi
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${withValue.map((flag) => flag.name).join(" | ")})
        [[ \${COMP_WORDS[i + 1]} == = ]] && i=$((i + 1))
        i=$((i + 1)) ;;
      -* | =) ;;
      *) command=\${command:+$command }\${COMP_WORDS[i]} ;;
    esac
  done
  case $command:$before in
${values.join("\n")}
  esac
  case $command in
    '') words='${[...commands, ...groups, ...flags].map(({ name: word }) => word).join(" ")}' ;;
${[...commands.map((command) => completeWords(command.name, command)), ...groups.map(completeGroup)].join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")${hasNames(completion) ? `\n  ${name}_names "$names" "$current" ""` : ""}
}
complete -F ${name} ${program}`;
}

function completeGroup({ name, commands }: CompletedGroup): string {
  const words = commands.map((command) => command.name).join(" ");
  const lines = commands.map((command) => completeWords(`${name} ${command.name}`, command));
  return [`    '${name}') words='${words}' ;;`, ...lines].join("\n");
}

function completeWords(name: string, { flags, choices, names: [first, second] }: CompletedCommand): string {
  const words = `words='${[...choices, ...flags.map(({ name: flag }) => flag)].join(" ")}'`;
  if (first === undefined) return `    '${name}' | '${name} '*) ${words} ;;`;
  const names = second === undefined ? "" : ` names=${second}`;
  return `    '${name}') ${words} names=${first} ;;\n    '${name} '*) ${words}${names} ;;`;
}

/**
 * Names come from the service: `compgen -W` would run a command in them, and names with blanks need quotes. The typed text is read from the
 * line, because bash splits addresses at their colons.
 */
function askForNames(name: string, program: string): string {
  return `${name}_names() {
  local typed each
  [[ -n $1 && $2 != -* ]] || return
  read -ra typed <<< "\${COMP_LINE:0:COMP_POINT}"
  while IFS= read -r each; do
    printf -v each %q "$each"
    [[ $each == "$3$2"* ]] && COMPREPLY+=("\${each#"$3"}")
  done < <(${program} ${COMPLETE} "$1" "\${typed[@]}" 2>/dev/null)
}
`;
}

function completeValue(program: string, place: string, { value }: CompletedFlag): string {
  switch (value.kind) {
    case "none":
      return "";
    case "file":
      return `    ${place}) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;`;
    case "directory":
      return `    ${place}) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;`;
    case "names":
      return `    ${place}) COMPREPLY=(); ${program}_names ${value.of} "$current" "$stem"; return ;;`;
    case "text":
      return `    ${place}) mapfile -t COMPREPLY < <(compgen -W '${value.suggestions.join(" ")}' -- "$current"); return ;;`;
  }
}
