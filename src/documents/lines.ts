import { codePoints } from "./code-points.ts";

/** A position as editors show it. */
export interface Position {
  /** From 1. */
  readonly line: number;
  /** From 1, in code points. */
  readonly column: number;
}

/** Converts offsets to lines and columns. Builds its table of lines at the first request. */
export class Lines {
  readonly #text: string;
  #starts: readonly number[] | null = null;
  /** The last answer, from which the next column is counted: a line may be a megabyte long. */
  #last = { lineStart: 0, offset: 0, column: 1 };

  constructor(text: string) {
    this.#text = text;
  }

  /** The position of a UTF-16 offset. */
  position(offset: number): Position {
    const { line, start } = this.#lineOf(offset);
    const canCountOn = this.#last.lineStart === start && this.#last.offset <= offset;
    const from = canCountOn ? this.#last : { offset: start, column: 1 };
    const column = from.column + codePoints(this.#text, from.offset, offset);
    this.#last = { lineStart: start, offset, column };
    return { line, column };
  }

  line(offset: number): number {
    return this.#lineOf(offset).line;
  }

  #lineOf(offset: number): { readonly line: number; readonly start: number } {
    const starts = (this.#starts ??= lineStarts(this.#text));
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, start: Math.min(starts[low] ?? 0, offset) };
  }
}

function lineStarts(text: string): readonly number[] {
  // A byte order mark has no width.
  const starts = [text.charCodeAt(0) === 0xfeff ? 1 : 0];
  for (let feed = text.indexOf("\n"); feed >= 0; feed = text.indexOf("\n", feed + 1)) starts.push(feed + 1);
  return starts;
}
