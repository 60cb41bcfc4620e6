import { renderFindings } from "../../documents/excerpt.ts";
import type { Finding } from "../../documents/findings.ts";
import { readBounded } from "../../platform/files/durable-file.ts";
import { errorCode, type Files } from "../../platform/files/files.ts";
import type { Terminal } from "../../platform/terminal.ts";
import { systemReason } from "./system-reason.ts";

/** What kind of file it is, for messages. */
export interface EditedFileRules {
  /** `configuration`, `catalog`. */
  readonly subject: string;
  /** The commented file to start from. */
  readonly example: string;
  readonly limitBytes: number;
}

/** The bytes of a file that a person edits, or why it cannot be read. */
export async function readEditedFile(
  files: Files,
  path: string,
  { subject, example, limitBytes }: EditedFileRules,
): Promise<Uint8Array | Finding> {
  try {
    const bytes = await readBounded(files, path, limitBytes);
    if (bytes !== "too-large") return bytes;
    return unreadable("too_large", `${subject} is larger than ${limitBytes} bytes`);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined || !(error instanceof Error)) throw error;
    return code === "ENOENT"
      ? unreadable("file_missing", `there is no such file; copy ${example} and edit it`)
      : unreadable("file_unreadable", `the file cannot be read: ${systemReason(error)}`);
  }
}

/** Findings in a file, and its bytes to show the lines concerned. */
export interface FileFindings {
  readonly path: string;
  readonly bytes: Uint8Array | null;
  readonly findings: readonly Finding[];
}

/** Prints findings with the lines concerned on stderr. */
export function showFindings({ path, bytes, findings }: FileFindings, terminal: Terminal): void {
  for (const line of renderFindings(findings, { path, bytes, columns: terminal.columns })) terminal.note(line);
}

function unreadable(id: string, message: string): Finding {
  return { id, severity: "error", loc: "", message, line: 1, column: 1 };
}
