import { renderFindings } from "../../documents/excerpt.ts";
import { maskProblem } from "../../documents/secrets.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { EXIT, type ExitCode, type Problem, type Terminal } from "../../platform/terminal.ts";
import { CONFIGURATION_INVALID } from "../configuration/documents.ts";
import type { LocatedFinding } from "../findings.ts";
import type { CommandContext } from "./context.ts";

/** The readers refuse larger files, so their findings have no source line. */
const EXCERPT_LIMIT_BYTES = 1024 * 1024;

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
    const bytes = await readForExcerpt(path, context);
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

async function readForExcerpt(path: string, { machine }: Pick<CommandContext, "machine">): Promise<Uint8Array | null> {
  try {
    const bytes = await readBounded(machine.files, path, EXCERPT_LIMIT_BYTES);
    return bytes === "too-large" ? null : bytes;
  } catch {
    // The finding itself reports that the file cannot be read.
    return null;
  }
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
