import { EXIT, type ExitCode, type Problem, type Terminal } from "../platform/terminal.ts";

/** Reports a problem. @returns the exit code with which the command ends. */
export function refuse(problem: Problem, exitCode: ExitCode, terminal: Terminal): ExitCode {
  terminal.problem(problem);
  return exitCode;
}

/** Reports wrong flags or arguments. */
export function refuseUsage(what: string, fix: string, terminal: Terminal): ExitCode {
  return refuse({ code: "usage", what, fix }, EXIT.usage, terminal);
}

/** The same, for what reads flags. @returns null, the result without a value. */
export function refuseFlags(what: string, fix: string, terminal: Terminal): null {
  refuseUsage(what, fix, terminal);
  return null;
}

/** Reports that nothing has this name. */
export function refuseUnknown(what: string, fix: string, terminal: Terminal): ExitCode {
  return refuse({ code: "not-found", what, fix }, EXIT.rejected, terminal);
}
