import type { ExitCode, Terminal } from "../platform/terminal.ts";
import { EXIT } from "../platform/terminal.ts";

/**
 * Tells that the service has only what is documented.
 *
 * @param lack what it does not do, after "this service".
 * @param fix what can be done instead.
 */
export function refuseMissingOperation(lack: string, fix: string, terminal: Terminal): ExitCode {
  terminal.problem({ code: "not-offered", what: `this service ${lack}`, fix });
  return EXIT.rejected;
}
