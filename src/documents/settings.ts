import { type Document, type DocumentRules, readDocument } from "./document.ts";
import type { Check, Reader } from "./fields.ts";
import { FindingList } from "./finding-list.ts";
import type { Finding } from "./findings.ts";
import type { Position } from "./lines.ts";
import { secretOffset } from "./secrets.ts";

/** The result of reading a file of settings. */
export interface SettingsReading<T> {
  readonly findings: readonly Finding[];
  /** Null when a finding is an error. */
  readonly value: T | null;
  /** The position of a JSON Pointer; for a missing value, that of the nearest ancestor. */
  locate(loc: string): Position;
}

export type SettingsRules = DocumentRules & Pick<Check, "secretAdvice" | "hints">;

/** Reads a file of settings and reports all findings. */
export function readSettings<T>(bytes: Uint8Array, rules: SettingsRules, reader: Reader<T>): SettingsReading<T> {
  const reading = readDocument(bytes, rules);
  if (reading.kind === "refused") {
    return { findings: reading.findings, value: null, locate: () => ({ line: 1, column: 1 }) };
  }
  const { document } = reading;
  const { subject, secretAdvice } = rules;
  const check = startCheck(document, rules);
  const { findings } = check;
  const value = reader({ node: document.root, path: null, check });
  // A key in a comment is as readable as one in a value.
  const offset = findings.hasError ? undefined : secretOffset(document.text);
  if (offset !== undefined) {
    const message = `this looks like a secret; a ${subject} must not carry one${secretAdvice}`;
    findings.error(`secret_in_${subject}`, null, offset, message);
  }
  return {
    findings: findings.toFindings(),
    value: findings.hasError || value === undefined ? null : value,
    locate: (loc) => document.locate(loc),
  };
}

/** The state of a run over a document, before its first value. */
export function startCheck(
  { lines }: Document,
  { subject, secretAdvice, hints }: Pick<Check, "subject" | "secretAdvice" | "hints">,
  placeholderSeverity: Check["placeholderSeverity"] = "error",
): Check {
  return { findings: new FindingList(lines), subject, secretAdvice, placeholderSeverity, hints, placeholders: 0 };
}
