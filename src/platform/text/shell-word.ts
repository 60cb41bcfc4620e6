import { basename, extname } from "node:path";

/** Quotes a text as one word of a shell, for commands in messages. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** How a shell calls the running program: by its name where it is installed, else, as in a checkout, with its Node. */
export function ownCommand(programPath: string, nodePath: string): string {
  const name = basename(programPath);
  return extname(name) === "" ? name : `${shellWord(nodePath)} ${shellWord(programPath)}`;
}
