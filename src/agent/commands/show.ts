import { renderFindings } from "../../documents/excerpt.ts";
import { maskProblem } from "../../documents/secrets.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { CONFIGURATION_INVALID } from "../configuration/documents.ts";
import { resolveFolders } from "../configuration/folders.ts";
import { documentFindings, type LocatedFinding } from "../findings.ts";
import { type OneShot, type OneShotOptions, openOneShot } from "../one-shot.ts";
import type { CommandContext, CommonOptions } from "./context.ts";

/** The readers refuse larger files, so their findings have no source line. */
const EXCERPT_LIMIT_BYTES = 1024 * 1024;

/**
 * Opens what a command reads, or shows why it cannot.
 *
 * @param empty the command's document without a result, for `--json`.
 * @returns the exit code where it cannot.
 */
export async function openToRead(
  state: OneShotOptions["state"],
  empty: Readonly<Record<string, unknown>>,
  options: CommonOptions,
  context: CommandContext,
): Promise<OneShot | ExitCode> {
  const { machine, terminal, environment } = context;
  const folders = resolveFolders(options, environment);
  const opened = await openOneShot({ machine, folders, state, onProgress: hashProgress(terminal) });
  switch (opened.kind) {
    case "opened":
      return opened.oneShot;
    case "problem":
      return showProblem(opened.problem, empty, options, terminal);
    case "invalid":
      return refuseFindings(documentFindings(opened.configuration), empty, options, context);
  }
}

/** Shows findings with their source lines, on stderr: by file, in the order of the file. */
export async function showFindings(
  findings: readonly LocatedFinding[],
  context: Pick<CommandContext, "terminal" | "machine">,
): Promise<void> {
  const { terminal } = context;
  for (const path of new Set(findings.map(({ file }) => file))) {
    const ofFile = findings
      .filter(({ file }) => file === path)
      .toSorted((a, b) => a.line - b.line || a.column - b.column);
    // The finding itself reports that the file cannot be read.
    const read = await readBounded(context.machine.files, path, EXCERPT_LIMIT_BYTES).catch(() => null);
    const bytes = read === "too-large" ? null : read;
    for (const line of renderFindings(ofFile, { path, bytes, columns: terminal.columns })) terminal.note(line);
  }
}

/** Shows the findings that ended a command without a result; with `--json` as member `findings` of the command's empty document. */
export async function refuseFindings(
  findings: readonly LocatedFinding[],
  empty: Readonly<Record<string, unknown>>,
  { json }: { readonly json?: boolean },
  context: Pick<CommandContext, "terminal" | "machine">,
): Promise<ExitCode> {
  if (json === true) context.terminal.json({ ...empty, findings });
  else await showFindings(findings, context);
  return EXIT.invalid;
}

/** A progress bar for hashing. */
export function hashProgress(terminal: Terminal): (doneBytes: number, totalBytes: number) => void {
  return (doneBytes, totalBytes) => terminal.progress("hashing", totalBytes === 0 ? 1 : doneBytes / totalBytes);
}

/**
 * Shows a problem that ended a command without a result. With `--json` also prints it on stdout, as member `problem` of the command's
 * empty document.
 *
 * @returns the exit code.
 */
export function showProblem(
  problem: Problem,
  empty: Readonly<Record<string, unknown>>,
  options: { readonly json?: boolean },
  terminal: Terminal,
): ExitCode {
  if (options.json === true) terminal.json({ ...empty, problem: maskProblem(problem) });
  terminal.problem(problem);
  return problem.code === CONFIGURATION_INVALID ? EXIT.invalid : EXIT.failed;
}
