import { basename, extname } from "node:path";

import { shellWord } from "./text/shell-word.ts";

/** How a shell calls the running program: by its name where it is installed, else, as in a checkout, with its Node. */
export function ownCommand(programPath: string, nodePath: string): string {
  const name = basename(programPath);
  return extname(name) === "" ? name : `${shellWord(nodePath)} ${shellWord(programPath)}`;
}
