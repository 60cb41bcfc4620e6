import type { CompletedCommand, CompletedFlag, CompletedGroup, Completion } from "./description.ts";

/** A script for zsh: `PROGRAM completion zsh > "${fpath[1]}/_PROGRAM"`. */
export function zshCompletion({ program, flags, commands, groups }: Completion): string {
  const name = `_${program.replaceAll("-", "_")}`;
  const cases = [...commands.map(completeCommand), ...groups.map((group) => callGroup(name, group))];
  return `#compdef ${program}
${groups.map((group) => completeGroup(name, group)).join("")}${name}() {
${completeLevel([...commands, ...groups], flags, cases)}
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi`;
}

/** One word of the command line, and what stands behind each. */
function completeLevel(
  words: readonly { readonly name: string; readonly summary: string }[],
  flags: readonly CompletedFlag[],
  cases: readonly string[],
): string {
  return `  local context state state_descr line
  typeset -A opt_args
  local -a commands=(
${words.map(describeCommand).join("\n")}
  )
  _arguments -C \\
${flags.map(specifyFlag).join("")}    '1: :->command' \\
    '*:: :->rest' && return
  case $state in
    command) _describe command commands ;;
    rest)
      case $words[1] in
${cases.join("\n")}
      esac ;;
  esac`;
}

function completeGroup(program: string, { name, commands }: CompletedGroup): string {
  return `${program}_${name}() {
${completeLevel(commands, [], commands.map(completeCommand))}
}
`;
}

function callGroup(program: string, { name }: CompletedGroup): string {
  return `        ${quote(name)}) ${program}_${name} && return ;;`;
}

function describeCommand({ name, summary }: Pick<CompletedCommand, "name" | "summary">): string {
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
