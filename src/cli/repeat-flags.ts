import { shellWord } from "../platform/text/shell-word.ts";
import { attributeOf, JSON_FLAG, type ProgramTable } from "./command-table.ts";

/**
 * Puts the given flags of every command into the commands that a hint names, so that they work as printed:
 * `robot-policy robots list` → `robot-policy --context lab robots list`. A flag that the hint has itself is left out.
 */
export function repeatFlags<Flags, Context>(
  { name, common, commands, unrepeated = [] }: ProgramTable<Flags, Context>,
  given: object,
): (hint: string) => string {
  const values = new Map<string, unknown>(Object.entries(given));
  const flags = common.flatMap(({ flag }) => {
    const [word = ""] = flag.split(" ");
    const value = flag === JSON_FLAG.flag ? undefined : values.get(attributeOf(word));
    if (value === undefined) return [];
    return [{ word, text: typeof value === "string" ? `${word} ${shellWord(value)} ` : `${word} ` }];
  });
  if (flags.length === 0) return (hint) => hint;
  const words = new Set(commands.map((row) => row.name.split(" ")[0] ?? ""));
  const repeating = [...words].filter((word) => !unrepeated.includes(word));
  const command = new RegExp(String.raw`\b${name} (?=(?:${repeating.join("|")})\b)`, "g");
  return (hint) => {
    const missing = flags.filter(({ word }) => !hint.includes(word)).map(({ text }) => text);
    return hint.replaceAll(command, (program) => program + missing.join(""));
  };
}
