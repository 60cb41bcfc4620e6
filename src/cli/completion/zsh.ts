import type { CompletedCommand, CompletedFlag, Completion } from "./description.ts";

/** A script for zsh: `PROGRAM completion zsh > "${fpath[1]}/_PROGRAM"`. */
export function zshCompletion({ program, flags, commands }: Completion): string {
  const name = `_${program.replaceAll("-", "_")}`;
  return `#compdef ${program}
${name}() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
${commands.map(describeCommand).join("\n")}
  )
  _arguments -C \\
${flags.map(specifyFlag).join("")}    '1: :->command' \\
    '*:: :->rest' && return
  case $state in
    command) _describe command commands ;;
    rest)
      case $words[1] in
${commands.map(completeCommand).join("\n")}
      esac ;;
  esac
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi`;
}

function describeCommand({ name, summary }: CompletedCommand): string {
  return `    ${quote(`${name}:${summary.replaceAll(":", "\\:")}`)}`;
}

function completeCommand({ name, flags, choices }: CompletedCommand): string {
  const argument = choices.length === 0 ? "" : `            ${quote(`1: :(${choices.join(" ")})`)} \\\n`;
  return `        ${quote(name)})
          _arguments \\
${flags.map((flag) => `        ${specifyFlag(flag)}`).join("")}${argument}            && return ;;`;
}

/** `--flag[what it does]:value:action`, as _arguments wants it (zshcompsys(1)). */
function specifyFlag({ name, summary, value }: CompletedFlag): string {
  const description = summary.replaceAll(/[[\]:\\]/g, String.raw`\$&`);
  return `    ${quote(`${name}[${description}]${actionOf(value)}`)} \\\n`;
}

function actionOf(value: CompletedFlag["value"]): string {
  switch (value.kind) {
    case "none":
      return "";
    case "file":
      return ":file:_files";
    case "directory":
      return ":directory:_files -/";
    case "text":
      return value.suggestions.length === 0 ? ":value: " : `:value:(${value.suggestions.join(" ")})`;
  }
}

/** A text as one word of the shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
