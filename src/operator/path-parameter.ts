import { isPathParameter } from "../client/address.ts";
import type { Terminal } from "../platform/terminal.ts";

/** Reports a name that cannot be part of a URL path. */
export function refusePathParameter(name: string, terminal: Terminal): boolean {
  if (isPathParameter(name)) return false;
  terminal.problem({
    code: "usage",
    what: `'${name}' is not a valid name or id`,
    fix: "give a name or id, as list shows it",
  });
  return true;
}
