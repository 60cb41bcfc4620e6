import type { Finding } from "./findings.ts";
import type { Lines } from "./lines.ts";
import { type Path, pointer } from "./pointer.ts";

/** Limit of findings per severity. A hostile file could have hundreds of thousands. */
export const FINDING_LIMIT = 1000;

interface Unplaced extends Pick<Finding, "id" | "severity" | "loc" | "message"> {
  readonly offset: number;
}

/** Collects the findings of one document, and returns them in the order of SPEC section 5. */
export class FindingList {
  readonly #lines: Lines;
  readonly #findings: Unplaced[] = [];
  readonly #counts = { error: 0, warning: 0 };

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  get hasError(): boolean {
    return this.#counts.error > 0;
  }

  error(id: string, path: Path, offset: number, message: string | (() => string)): void {
    this.add("error", id, path, offset, message);
  }

  warning(id: string, path: Path, offset: number, message: string): void {
    this.add("warning", id, path, offset, message);
  }

  /** @param message a function for an expensive message: it is not called for findings over the limit. */
  add(severity: Finding["severity"], id: string, path: Path, offset: number, message: string | (() => string)): void {
    this.#counts[severity] += 1;
    if (this.#counts[severity] > FINDING_LIMIT) return;
    const text = typeof message === "string" ? message : message();
    this.#findings.push({ id, severity, loc: pointer(path), message: text, offset });
  }

  /** The line of an offset, for messages that refer to it. */
  line(offset: number): number {
    return this.#lines.line(offset);
  }

  toFindings(): readonly Finding[] {
    const ordered = this.#findings.sort((a, b) => a.offset - b.offset || order(a.id, b.id) || order(a.loc, b.loc));
    return ordered.map(({ id, severity, loc, message, offset }) => {
      const { line, column } = this.#lines.position(offset);
      return { id, severity, loc, message, line, column };
    });
  }
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
