import type { Files } from "../../platform/files/files.ts";
import type { RunProgram } from "../../platform/programs.ts";

export interface GrantMachine {
  readonly files: Files;
  readonly runProgram: RunProgram;
}
