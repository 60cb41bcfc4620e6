/** The commands that the pages show, as words. */
import type { Block } from "./pages.ts";

/** The words of each command of a `sh` or `console` block: lines joined, comments dropped, split at pipes and lists. */
export function commandsOf({ language, text }: Block): readonly (readonly string[])[] {
  const lines = text.replaceAll(/\\\n\s*/g, " ").split("\n");
  const typed =
    language === "console" ? lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)) : lines;
  return typed.flatMap(splitLine);
}

const TOKEN = /(?<=^|\s)#.*|&&|\|\||[|;()<>]|(?:'[^']*'|"[^"]*"|[^\s|;&()<>'"])+/g;

/** The words of each command of one line; a redirection is no word. */
export function splitLine(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let isFile = false;
  for (const [token] of line.matchAll(TOKEN)) {
    if (token.startsWith("#")) break;
    if (/^(?:&&|\|\|?|[;()])$/.test(token)) commands.push([]);
    else if (!isFile && !/^[<>]$/.test(token)) commands.at(-1)?.push(token.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"));
    isFile = /^[<>]$/.test(token);
  }
  return commands.filter((words) => words.length > 0);
}

/** Other ways to call our programs, by their first words. */
const CALLS = [
  ["npm run --silent agent --", "robot-policy-agent"],
  ["npm run --silent operator --", "robot-policy"],
  ["npm run --silent service --", "robot-policy-service"],
  ["node_modules/.bin/node dist/robot-policy-agent.cjs", "robot-policy-agent"],
] as const;

/** Without `sudo`, and with our programs by their names. */
export function plainCommand(words: readonly string[]): readonly string[] {
  // With -u, a user follows.
  if (words[0] === "sudo") return plainCommand(words.slice(words[1] === "-u" ? 3 : 1));
  for (const [call, program] of CALLS) {
    const start = call.split(" ");
    if (start.every((word, index) => words[index] === word)) return [program, ...words.slice(start.length)];
  }
  return words;
}
