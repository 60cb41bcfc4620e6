import {
  COMPLETE,
  type CompletedCommand,
  type CompletedFlag,
  type CompletedGroup,
  type Completion,
  hasNames,
} from "./description.ts";

/** A script for zsh: `PROGRAM completion zsh > "${fpath[1]}/_PROGRAM"`. */
export function zshCompletion(completion: Completion): string {
  const { program, flags, commands, groups } = completion;
  const name = `_${program.replaceAll("-", "_")}`;
  const cases = [
    ...commands.map((command) => completeCommand(name, command)),
    ...groups.map((group) => callGroup(name, group)),
  ];
  const completesNames = hasNames(completion);
  return `#compdef ${program}
${completesNames ? askForNames(name, program) : ""}${groups.map((group) => completeGroup(name, group)).join("")}${name}() {
${completesNames ? `  local -a typed=($words)\n` : ""}${completeLevel(name, [...commands, ...groups], flags, cases)}
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi`;
}

/** One word of the command line, with the function for each value. */
function completeLevel(
  program: string,
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
${flags.map((flag) => specifyFlag(program, flag)).join("")}    '1: :->command' \\
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
${completeLevel(
  program,
  commands,
  [],
  commands.map((command) => completeCommand(program, command)),
)}
}
`;
}

function callGroup(program: string, { name }: CompletedGroup): string {
  return `        ${quote(name)}) ${program}_${name} && return ;;`;
}

function describeCommand({ name, summary }: Pick<CompletedCommand, "name" | "summary">): string {
  return `    ${quote(`${name}:${summary.replaceAll(":", "\\:")}`)}`;
}

function completeCommand(program: string, { name, flags, choices, names }: CompletedCommand): string {
  const actions = choices.length === 0 ? names.map((each) => askFor(program, each)) : [`(${choices.join(" ")})`];
  const specified = actions.map((action, index) => `            ${quote(`${index + 1}: :${action}`)} \\\n`).join("");
  return `        ${quote(name)})
          _arguments \\
${flags.map((flag) => `        ${specifyFlag(program, flag)}`).join("")}${specified}            && return ;;`;
}

/** `--flag[what it does]:value:action`, the format of _arguments (zshcompsys(1)). */
function specifyFlag(program: string, { name, summary, value }: CompletedFlag): string {
  const description = summary.replaceAll(/[[\]:\\]/g, String.raw`\$&`);
  return `    ${quote(`${name}[${description}]${actionOf(program, value)}`)} \\\n`;
}

function actionOf(program: string, value: CompletedFlag["value"]): string {
  switch (value.kind) {
    case "none":
      return "";
    case "file":
      return ":file:_files";
    case "directory":
      return ":directory:_files -/";
    case "names":
      return `:value:${askFor(program, value.of)}`;
    case "text":
      return value.suggestions.length === 0 ? ":value: " : `:value:(${value.suggestions.join(" ")})`;
  }
}

/** The leading blank prevents _arguments from adding arguments to the call. */
function askFor(program: string, names: string): string {
  return ` ${program}_names ${names}`;
}

/** Passes the words of the whole line, because _arguments removes the first ones in nested calls. */
function askForNames(name: string, program: string): string {
  return `${name}_names() {
  local -a names=(\${(f)"$(${program} ${COMPLETE} $1 $typed 2>/dev/null)"})
  compadd -a names
}
`;
}

/** A text as one word of the shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
