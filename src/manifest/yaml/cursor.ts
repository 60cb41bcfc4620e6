import type { Construct } from "./tree.ts";

/** Why a text cannot be read to its end. */
export interface Failure {
  /** `nesting`: deeper than the reader follows at all; `size`: more list items and keys than it takes. */
  readonly kind: "syntax" | "nesting" | "size";
  readonly offset: number;
  readonly message: string;
}

/** Collections inside collections that are followed, to find the syntax errors below the level that documents may have. */
const NESTING_LIMIT = 128;
/** List items and keys in one text; keeps what a hostile text of 1 MiB becomes in memory below 100 MB. */
export const MEMBER_LIMIT = 50_000;
/** YAML 1.2.2, section 7.4: a key on one line with its value ends within this many characters. */
const KEY_LIMIT = 1024;

const TAB = 9;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;
const HASH = 35;

/**
 * A place in the text, and what is known about its line.
 *
 * The first failure moves the cursor to the end of the text, where every loop of the reader stops by itself; so reading needs
 * no exceptions, and whatever it returns after a failure is thrown away.
 */
export class Cursor {
  readonly text: string;
  offset = 0;
  /** Where the current line begins. */
  line_start = 0;
  /** Spaces the current line begins with, once `skip` has come to it. */
  indent = 0;
  /** A tab stands in the white space before the current token: no block collection may start there. */
  after_tab = false;
  failure: Failure | null = null;
  /** Forbidden constructs by what they were found on; a key that has one is found by its entry. */
  readonly constructs = new Map<object, Construct[]>();
  /** The collections around the cursor: where each starts and the key or index being read in it. */
  readonly trail: { readonly offset: number; step: string | number }[] = [];
  /** The token that was found first on its line. */
  #first_on_line = -1;
  #members = 0;

  constructor(text: string) {
    this.text = text;
    // A byte order mark has no width.
    if (text.charCodeAt(0) === 0xfeff) this.offset = this.line_start = 1;
  }

  /** The UTF-16 unit at the cursor or `ahead` of it; NaN beyond the end. */
  peek(ahead = 0): number {
    return this.text.charCodeAt(this.offset + ahead);
  }

  /** The character at the cursor; empty at the end. */
  get character(): string {
    return this.text.charAt(this.offset);
  }

  get column(): number {
    return this.offset - this.line_start;
  }

  /** True on the first token of a line. */
  get isFirstOnLine(): boolean {
    return this.#first_on_line === this.offset;
  }

  /** Moves over white space, comments and line ends to the next token. */
  skip(): void {
    if (this.#first_on_line === this.offset) return;
    const { text } = this;
    let offset = this.offset;
    let isFirst = offset === this.line_start;
    // A `#` that touches the token before it starts no comment.
    let isSeparated = isFirst || isBlank(text.charCodeAt(offset - 1));
    let tab = false;
    for (;;) {
      const unit = text.charCodeAt(offset);
      if (unit === SPACE || unit === TAB) {
        tab ||= unit === TAB;
        isSeparated = true;
        offset += 1;
      } else if (unit === LINE_FEED || unit === CARRIAGE_RETURN) {
        offset = afterBreak(text, offset);
        this.line_start = offset;
        isFirst = isSeparated = true;
        tab = false;
      } else if (unit === HASH && isSeparated) {
        offset = lineEnd(text, offset);
      } else {
        break;
      }
    }
    this.offset = offset;
    this.after_tab = tab;
    if (!isFirst) return;
    this.#first_on_line = offset;
    this.indent = spaces(text, this.line_start, offset);
  }

  /** Moves over spaces and tabs; true when there were some. */
  skipBlanks(): boolean {
    const { offset } = this;
    while (isBlank(this.peek())) this.offset += 1;
    return this.offset > offset;
  }

  /** True at the end of the text and before a document marker: nothing of this document follows. */
  get isAtEnd(): boolean {
    return this.offset >= this.text.length || isMarker(this.text, this.offset, this.line_start);
  }

  /** True at `-`, `?` or `:` where it is an indicator rather than the beginning of a text. */
  isIndicator(character: string): boolean {
    return this.character === character && isBlankOrBreakOrEnd(this.peek(1));
  }

  /** True at the `:` that ends a key in a flow collection. */
  isFlowValueIndicator(afterJson: boolean): boolean {
    if (this.character !== ":") return false;
    return afterJson || isBlankOrBreakOrEnd(this.peek(1)) || isFlowIndicator(this.peek(1));
  }

  /** True when a text from `start` to here may be the key of a `:` that follows on the line. */
  mayBeKey(start: number): boolean {
    return start >= this.line_start && this.offset - start <= KEY_LIMIT;
  }

  /** Notes forbidden constructs of a node or entry, and returns it. */
  mark<T extends object>(owner: T, constructs: readonly Construct[]): T {
    if (constructs.length > 0) this.constructs.set(owner, [...(this.constructs.get(owner) ?? []), ...constructs]);
    return owner;
  }

  enter(offset: number): void {
    this.trail.push({ offset, step: "" });
    if (this.trail.length > NESTING_LIMIT) this.fail(offset, "nested too deeply", "nesting");
  }

  /** Names the member of the innermost collection that is read next. */
  step(step: string | number): void {
    const innermost = this.trail.at(-1);
    if (innermost !== undefined) innermost.step = step;
    this.#members += 1;
    if (this.#members > MEMBER_LIMIT) this.fail(this.offset, `more than ${MEMBER_LIMIT} list items and keys`, "size");
  }

  leave(): void {
    // After a failure the trail still says where it was.
    if (this.failure === null) this.trail.pop();
  }

  fail(offset: number, message: string, kind: Failure["kind"] = "syntax"): void {
    this.failure ??= { kind, offset, message };
    this.offset = this.text.length;
    this.#first_on_line = -1;
  }
}

export function isBlank(unit: number): boolean {
  return unit === SPACE || unit === TAB;
}

export function isBreak(unit: number): boolean {
  return unit === LINE_FEED || unit === CARRIAGE_RETURN;
}

export function isBlankOrBreakOrEnd(unit: number): boolean {
  return unit === SPACE || unit === LINE_FEED || unit === TAB || unit === CARRIAGE_RETURN || Number.isNaN(unit);
}

/** One of `,` `[` `]` `{` `}`. */
export function isFlowIndicator(unit: number): boolean {
  return unit === 44 || unit === 91 || unit === 93 || unit === 123 || unit === 125;
}

/** The offset after a line feed, or a carriage return and line feed. */
export function afterBreak(text: string, offset: number): number {
  return text.charCodeAt(offset) === CARRIAGE_RETURN ? offset + 2 : offset + 1;
}

/** Where the line that holds `offset` ends, without its break. */
export function lineEnd(text: string, offset: number): number {
  const feed = text.indexOf("\n", offset);
  if (feed < 0) return text.length;
  return feed > offset && text.charCodeAt(feed - 1) === CARRIAGE_RETURN ? feed - 1 : feed;
}

/** How many spaces stand from `start` on, looking no further than `end`. */
export function spaces(text: string, start: number, end: number): number {
  let offset = start;
  while (offset < end && text.charCodeAt(offset) === SPACE) offset += 1;
  return offset - start;
}

/** True where a line begins with `---` or `...`. */
export function isMarker(text: string, offset: number, line_start: number): boolean {
  if (offset !== line_start) return false;
  return (
    (text.startsWith("---", offset) || text.startsWith("...", offset)) &&
    isBlankOrBreakOrEnd(text.charCodeAt(offset + 3))
  );
}
