import { isPathParameter } from "../client/send-request.ts";
import { nearest } from "../documents/nearest.ts";
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

/** What to do about a word that is none of these. */
export function wordFix(written: string, words: readonly string[], otherwise = "it is one of"): string {
  const meant = nearest(written, words);
  return meant === undefined ? `${otherwise} ${words.join(", ")}` : `did you mean ${meant}?`;
}

/** Reports that nothing has this name. */
export function refuseUnknown(what: string, fix: string, terminal: Terminal): ExitCode {
  return refuse({ code: "not-found", what, fix }, EXIT.rejected, terminal);
}

/**
 * The only item with the name that the operator gave. Reports if there is none, or more than one.
 *
 * @param words `none` and `fix` if there is none; `several` follows the number of items: `fleets are named x`.
 */
export function onlyOne<Found extends object>(
  found: readonly Found[],
  idOf: (each: Found) => string,
  words: { readonly none: string; readonly fix: string; readonly several: string },
  terminal: Terminal,
): Found | ExitCode {
  const [first, ...more] = found;
  if (first === undefined) return refuseUnknown(words.none, words.fix, terminal);
  if (more.length === 0) return first;
  const what = `${found.length} ${words.several}`;
  const fix = `give the id of one: ${found.map(idOf).join(", ")}`;
  return refuse({ code: "ambiguous", what, fix }, EXIT.usage, terminal);
}

/**
 * Reports that the service lacks an operation.
 *
 * @param lack what it does not do, after "this service".
 * @param fix what to do instead.
 */
export function refuseMissingOperation(lack: string, fix: string, terminal: Terminal): ExitCode {
  return refuse({ code: "not-offered", what: `this service ${lack}`, fix }, EXIT.rejected, terminal);
}

/** Reports a name that cannot be part of a URL path. */
export function refusePathParameter(name: string, terminal: Terminal): boolean {
  if (isPathParameter(name)) return false;
  refuseUsage(`'${name}' is not a valid name or id`, "give a name or id, as list shows it", terminal);
  return true;
}

/**
 * Reports which members of a request neither the flags nor the file `from` give.
 *
 * @param subject what the members describe. @param members with the flags for each, and its value.
 */
export function refuseIncomplete(
  subject: string,
  from: string | undefined,
  members: readonly (readonly [member: string, flags: string, value: unknown])[],
  terminal: Terminal,
): ExitCode {
  const missing = members.filter(([, , value]) => value === undefined);
  const names = missing.map(([member]) => member).join(", ");
  const what = from === undefined ? `the description of the ${subject} is incomplete` : `${from} lacks ${names}`;
  refuseUsage(what, `give ${missing.map(([, flags]) => flags).join("; ")}`, terminal);
  return from === undefined ? EXIT.usage : EXIT.invalid;
}
