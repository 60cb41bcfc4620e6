import type { CommandRow, FlagRow, ProgramTable } from "../../src/cli/command-table.ts";
import { bold, example, italic, literal, prose, term } from "./roff.ts";

type Row = CommandRow<never, never>;

/** SYNOPSIS of a program, from the rows that its parser and its completion are made of. */
export function describeUse({ name, commands }: ProgramTable<never, never>): string[] {
  return [".SH SYNOPSIS", ...commands.flatMap((row) => synopsis(name, row))];
}

/** Its COMMANDS and OPTIONS. */
export function describeCommands({ common, commands }: ProgramTable<never, never>): string[] {
  return [
    ".SH COMMANDS",
    ...commands.flatMap((row) => describeCommand(row)),
    ".SH COMMON OPTIONS",
    "Every command takes these.",
    ...common.flatMap((flag) => describeFlag(flag)),
    ...term(bold("--help"), "Show commands and options, of a command its own."),
    ...term(`${bold("-V")}, ${bold("--version")}`, "Print the version."),
  ];
}

function synopsis(program: string, { name, flags = [], argument = "" }: Row): readonly string[] {
  const words = flags.map(({ flag, required }) => (required === true ? flagText(flag) : `[${flagText(flag)}]`));
  const after = argument === "" ? [] : [argumentText(argument)];
  return [`.SY ${literal(program)}`, [bold(name), ...words, ...after].join(" "), ".YS"];
}

function describeCommand({ name, summary, flags = [], argument = "", choices = [], examples }: Row): readonly string[] {
  const after = argument === "" ? "" : ` ${argumentText(argument)}`;
  return [
    `.SS ${bold(name)}${after}`,
    sentence(summary),
    ...(choices.length === 0 ? [] : [".PP", `${argumentText(argument)}: ${choices.map(bold).join(", ")}.`]),
    ...flags.flatMap(describeFlag),
    ...(examples.length === 0 ? [] : example(examples)),
  ];
}

function describeFlag({ flag, summary, choices = [], repeats, default: preset }: FlagRow): readonly string[] {
  const notes = [
    sentence(summary),
    ...(choices.length === 0 ? [] : [`One of ${choices.map(bold).join(", ")}.`]),
    ...(repeats === true ? ["May be given several times."] : []),
    ...(preset === undefined ? [] : [`Default: ${bold(preset)}.`]),
  ];
  return term(flagText(flag), notes.join("\n"));
}

/** `--config <file>`: literal words are bold, placeholders are not. */
function flagText(flag: string): string {
  const [name = "", ...values] = flag.split(" ");
  return [bold(name), ...values.map((value) => italic(value.replaceAll(/[<>]/g, "")))].join(" ");
}

function argumentText(argument: string): string {
  return argument
    .split(" ")
    .map((word) => (word.startsWith("[") ? `[${italic(word.slice(1, -1))}]` : italic(word)))
    .join(" ");
}

/** Turns a summary of the help into a sentence. An explained value, `acl: …`, keeps its case. */
function sentence(text: string): string {
  const whole = /[.!?]$/.test(text) ? text : `${text}.`;
  if (/^[a-z_]+:/.test(whole)) return prose(whole);
  return prose(whole.charAt(0).toUpperCase() + whole.slice(1));
}
