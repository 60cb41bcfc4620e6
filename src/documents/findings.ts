/** What is wrong with a file that a person wrote. */
import { maskSecrets } from "../api/wire/service-key.ts";

/** An error or a warning, at its place. */
export interface Finding extends Position {
  /** Stable, for scripts and for searching. */
  readonly id: string;
  /** An error keeps the file from being used. */
  readonly severity: "error" | "warning";
  /** JSON Pointer (RFC 6901) into the file; for a missing key, its expected place. */
  readonly loc: string;
  /** One sentence of bounded length, never with a secret. */
  readonly message: string;
}

/** A position as editors show it. */
export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1, in code points; a byte order mark has no width. */
  readonly column: number;
}

export function isError({ severity }: Pick<Finding, "severity">): boolean {
  return severity === "error";
}

/** The way from the root of a document to a value. */
export type Path = readonly PathStep[];
export type PathStep = string | number;

/** A finding before it has line and column. */
export interface Mistake extends Pick<Finding, "id" | "severity"> {
  readonly path: Path;
  readonly offset: number;
  /** A function for an expensive one: of a hostile file, only the first findings are worded. */
  readonly message: string | (() => string);
}

/** Limit of findings per severity. A hostile file could have hundreds of thousands. */
export const FINDING_LIMIT = 1000;

/** The findings in the order of the manifest's specification, section 5. */
export function placed(mistakes: readonly Mistake[], position: (offset: number) => Position): readonly Finding[] {
  const kept = [true, false].flatMap((error) =>
    mistakes.filter((mistake) => isError(mistake) === error).slice(0, FINDING_LIMIT),
  );
  return kept
    .map((mistake) => ({ mistake, loc: pointer(mistake.path) }))
    .sort((a, b) => a.mistake.offset - b.mistake.offset || order(a.mistake.id, b.mistake.id) || order(a.loc, b.loc))
    .map(({ mistake: { id, severity, offset, message }, loc }) => {
      const { line, column } = position(offset);
      return { id, severity, loc, message: typeof message === "string" ? message : message(), line, column };
    });
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Longer steps are cut, because pointers appear in logs. No known key is that long. */
const LONGEST_STEP = 200;

/** The JSON Pointer of a path (RFC 6901). Key material in it is masked. */
export function pointer(path: Path): string {
  return path.map((step) => escapeStep(String(step))).join("");
}

function escapeStep(step: string): string {
  const masked = maskSecrets(step);
  const cut = masked.length > LONGEST_STEP ? `${masked.slice(0, LONGEST_STEP)}…` : masked;
  return `/${cut.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Inverse of `pointer`, with indexes as texts. */
export function parsePointer(loc: string): Path {
  return loc
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The findings of checks, which know a value by its path, or by its offset if the path has none of its own. */
export class FindingList {
  readonly mistakes: Mistake[] = [];
  readonly #offset: (path: Path) => number;

  /** @param offset of the value at a path; of a missing value, that of the nearest ancestor. */
  constructor(offset: (path: Path) => number) {
    this.#offset = offset;
  }

  get hasError(): boolean {
    return this.mistakes.some(isError);
  }

  error(id: string, path: Path, message: Mistake["message"], offset = this.#offset(path)): void {
    this.mistakes.push({ id, severity: "error", path, offset, message });
  }

  warning(id: string, path: Path, message: Mistake["message"], offset = this.#offset(path)): void {
    this.mistakes.push({ id, severity: "warning", path, offset, message });
  }
}
