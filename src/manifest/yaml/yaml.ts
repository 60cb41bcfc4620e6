/**
 * A reader of YAML 1.2 for short documents that people write and strangers may have tampered with.
 *
 * Why not the `yaml` package: the agent reads two such files at every boot, and from a bundle that package adds 12 ms to the 17 ms of a
 * bare Node (this reader with all checks: 6 ms); and a hostile file of 1 MiB takes it up to 1.6 s and 970 MB before any limit of ours
 * could be looked at. This reader does one thing: syntax, with the place of everything. Anchors, aliases, tags and directives are
 * recognized and reported, never resolved. test/unit/manifest/yaml.test.ts compares it with the package.
 */
import { rootNode } from "./block.ts";
import type { Failure } from "./cursor.ts";
import { Cursor, lineEnd } from "./cursor.ts";
import type { Construct, Node } from "./tree.ts";

export interface YamlDocument {
  readonly kind: "document";
  /** Null when the text holds no document, or an empty one. */
  readonly root: Node;
  /** Forbidden constructs by the node, or for a key the entry, that has them. */
  readonly constructs: ReadonlyMap<object, readonly Construct[]>;
  /** Where the directives' lines start. */
  readonly directives: readonly number[];
}

export interface YamlFailure extends Failure {
  /** The collections around the place, outermost first, with the key or index that was read in each. */
  readonly trail: readonly { readonly offset: number; readonly step: string | number }[];
}

/** One more document than one file may hold starts at `offset`. */
export interface SecondDocument {
  readonly kind: "second-document";
  readonly offset: number;
}

/** Reads a text to its end. */
export function readYaml(text: string): YamlDocument | YamlFailure | SecondDocument {
  const cursor = new Cursor(text);
  checkCharacters(cursor);
  const directives: number[] = [];
  let root: Node | null = null;
  let second: number | null = null;
  for (let start = nextDocument(cursor, directives); start !== null; start = nextDocument(cursor, directives)) {
    const node = rootNode(cursor);
    cursor.skip();
    if (!cursor.isAtEnd) cursor.fail(cursor.offset, "nothing may follow here; is the line indented as its neighbours?");
    if (root === null) root = node;
    else second ??= start;
  }
  if (cursor.failure !== null) return { ...cursor.failure, trail: cursor.trail };
  if (second !== null) return { kind: "second-document", offset: second };
  root ??= { kind: "scalar", offset: 0, plain: true, text: "" };
  return { kind: "document", root, constructs: cursor.constructs, directives };
}

/** Moves to the content of the next document. @returns where the line starts that starts the document, or null at the end. */
function nextDocument(cursor: Cursor, directives: number[]): number | null {
  let start: number | null = null;
  for (;;) {
    cursor.skip();
    const { offset, text } = cursor;
    if (offset >= text.length) {
      if (start !== null) cursor.fail(start, "a directive stands before no document");
      return null;
    }
    if (cursor.column === 0 && cursor.character === "%") {
      start ??= offset;
      directives.push(offset);
      cursor.offset = lineEnd(text, offset);
    } else if (cursor.isAtEnd && text.startsWith("---", offset)) {
      cursor.offset += 3;
      return start ?? offset;
    } else if (cursor.isAtEnd && start === null) {
      cursor.offset += 3;
      cursor.skip();
      if (!cursor.isFirstOnLine && cursor.offset < text.length)
        cursor.fail(cursor.offset, "nothing may follow ... on its line");
    } else {
      if (start !== null) cursor.fail(offset, "--- is missing between the directives and the document");
      return cursor.line_start;
    }
  }
}

/** Characters that no YAML text holds (YAML 1.2.2, section 5.1), and carriage returns that end no line for other readers. */
function checkCharacters(cursor: Cursor): void {
  const { text } = cursor;
  for (let offset = 0; offset < text.length; offset += 1) {
    const unit = text.charCodeAt(offset);
    if (unit >= 32 || unit === 9 || unit === 10) continue;
    if (unit !== 13) cursor.fail(offset, `a control character (U+${unit.toString(16).toUpperCase().padStart(4, "0")})`);
    else if (text.charCodeAt(offset + 1) !== 10) cursor.fail(offset, "a carriage return without a line feed");
    if (cursor.failure !== null) return;
  }
}
