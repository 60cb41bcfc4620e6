import { isPathParameter } from "../client/address.ts";
import type { Terminal } from "../platform/terminal.ts";

/** Tells of a name that no address can hold. */
export function refusePathParameter(name: string, terminal: Terminal): boolean {
  if (isPathParameter(name)) return false;
  terminal.problem({ code: "usage", what: `'${name}' is no name or id`, fix: "give a name or id, as list shows it" });
  return true;
}
