import { blockText } from "./block-scalar.ts";
import type { Cursor } from "./cursor.ts";
import { flowCollection } from "./flow.ts";
import { ALIAS_WITH_PROPERTIES, aliasNode, emptyNode, keyText, makeEntry } from "./nodes.ts";
import { properties } from "./properties.ts";
import { plainContinuation, plainLine, quotedText, startsPlain } from "./scalars.ts";
import type { Construct, Entry, MappingNode, Node, SequenceNode } from "./tree.ts";

/** What a node belongs to. */
interface Place {
  /** Its lines are indented by more than this; the root's parent is at −1. */
  readonly parent: number;
  /** A list may stand below its key without further indentation. */
  readonly takesListAtParent: boolean;
  /** A block collection may start on the line of the indicator, as in `- key: value`. */
  readonly takesCollectionOnLine: boolean;
  /** Where an empty value is found. */
  readonly owner: number;
}

/** Reads the root of a document. */
export function rootNode(cursor: Cursor): Node {
  return blockNode(cursor, { parent: -1, takesListAtParent: false, takesCollectionOnLine: false, owner: 0 });
}

function blockNode(cursor: Cursor, place: Place): Node {
  cursor.skip();
  if (isOutside(cursor, place)) return emptyNode(place.owner);
  let start = startOf(cursor, place);
  let inner = properties(cursor, false);
  cursor.skip();
  // What stands alone on its line belongs to the whole value below it.
  const outer: Construct[] = [];
  while (inner.length > 0 && cursor.isFirstOnLine) {
    outer.push(...inner);
    if (isOutside(cursor, place)) return marked(cursor, emptyNode(place.owner), outer);
    start = startOf(cursor, place);
    inner = properties(cursor, false);
    cursor.skip();
  }
  if (cursor.isAtEnd) return marked(cursor, emptyNode(place.owner), [...outer, ...inner]);
  return nodeWith(cursor, place, start, outer, inner);
}

/** Where a value starts, and whether a block collection may start there. */
interface Start {
  readonly offset: number;
  readonly column: number;
  readonly takesCollection: boolean;
}

function startOf(cursor: Cursor, place: Place): Start {
  const { offset, column } = cursor;
  const takesCollection = (cursor.isFirstOnLine || place.takesCollectionOnLine) && !cursor.after_tab;
  return { offset, column, takesCollection };
}

/** True when the next token is no part of the value that is looked for: the value is empty. */
function isOutside(cursor: Cursor, { parent, takesListAtParent }: Place): boolean {
  if (cursor.isAtEnd) return true;
  if (!cursor.isFirstOnLine || cursor.indent > parent) return false;
  return !(takesListAtParent && cursor.indent === parent && cursor.isIndicator("-"));
}

/** Reads a value whose anchors and tags were read: `outer` on a line of their own, `inner` before its first token. */
function nodeWith(
  cursor: Cursor,
  place: Place,
  start: Start,
  outer: readonly Construct[],
  inner: readonly Construct[],
): Node {
  const { offset } = cursor;
  if (cursor.isIndicator("-")) {
    if (!start.takesCollection || inner.length > 0) cursor.fail(offset, "a list starts on a line of its own");
    return marked(cursor, blockSequence(cursor, start.column), outer);
  }
  if (cursor.character === "|" || cursor.character === ">") {
    const node: Node = { kind: "scalar", offset, plain: false, text: blockText(cursor, place.parent) };
    return marked(cursor, node, [...outer, ...inner]);
  }
  const isAlias = cursor.character === "*";
  const key = readKey(cursor, place.parent, inner);
  if (key.isExplicit || isColonAhead(cursor)) {
    if (!start.takesCollection) cursor.fail(cursor.offset, "a text with a colon and a space in it needs quotes");
    return marked(cursor, blockMapping(cursor, start.column, key), outer);
  }
  if (isAlias && outer.length > 0) cursor.fail(offset, ALIAS_WITH_PROPERTIES);
  return marked(cursor, wholeNode(cursor, key.node ?? emptyNode(offset), place.parent), [...outer, ...inner]);
}

function marked(cursor: Cursor, node: Node, constructs: readonly Construct[]): Node {
  if (new Set(constructs).size < constructs.length)
    cursor.fail(node.offset, "a value has one anchor and one tag at most");
  return cursor.mark(node, constructs);
}

/** A plain text may go on below its first line. */
function wholeNode(cursor: Cursor, node: Node, parent: number): Node {
  if (node.kind !== "scalar" || !node.plain) return node;
  return { ...node, text: plainContinuation(cursor, node.text, parent, false) };
}

/** What may turn out to be a key. */
interface Key {
  /** Null where a `?` or `:` stands instead. */
  readonly node: Node | null;
  readonly offset: number;
  readonly constructs: readonly Construct[];
  /** Introduced by `?`. */
  readonly isExplicit: boolean;
}

function readKey(cursor: Cursor, parent: number, constructs: readonly Construct[]): Key {
  const { offset } = cursor;
  const isExplicit = cursor.isIndicator("?");
  if (isExplicit && constructs.length > 0) cursor.fail(offset, "an anchor or tag stands after ?, not before it");
  if (cursor.character === "*" && constructs.length > 0) cursor.fail(offset, ALIAS_WITH_PROPERTIES);
  const node = isExplicit || cursor.isIndicator(":") ? null : lineNode(cursor, parent);
  return { node, offset, constructs, isExplicit };
}

/** Reads the part of a value that could be a key: a plain text to the end of its line, anything else to its own end. */
function lineNode(cursor: Cursor, parent: number): Node {
  const { offset } = cursor;
  switch (cursor.character) {
    case "[":
    case "{":
      return flowCollection(cursor, { parent, isNested: false });
    case '"':
    case "'":
      return { kind: "scalar", offset, plain: false, text: quotedText(cursor, parent) };
    case "*":
      return aliasNode(cursor);
  }
  if (!startsPlain(cursor, false)) return emptyNode(offset);
  return { kind: "scalar", offset, plain: true, text: plainLine(cursor, false) };
}

/** True at the colon that makes a key of what stands before it on the line; the cursor then is at the colon. */
function isColonAhead(cursor: Cursor): boolean {
  cursor.skipBlanks();
  return cursor.isIndicator(":");
}

function blockMapping(cursor: Cursor, column: number, first: Key): MappingNode {
  const entries: Entry[] = [];
  cursor.enter(first.offset);
  let key = first;
  while (cursor.failure === null) {
    entries.push(key.isExplicit ? explicitEntry(cursor, column) : implicitEntry(cursor, column, key));
    if (!hasSibling(cursor, column)) break;
    const constructs = properties(cursor, false);
    cursor.skipBlanks();
    key = readKey(cursor, column, constructs);
  }
  cursor.leave();
  return { kind: "mapping", offset: entries[0]?.key_offset ?? first.offset, entries };
}

function implicitEntry(cursor: Cursor, column: number, key: Key): Entry {
  if (!isColonAhead(cursor)) cursor.fail(key.offset, "a colon and a space are missing after this key");
  if (!cursor.mayBeKey(key.offset)) cursor.fail(key.offset, "a key must be on one line with its colon");
  cursor.step(keyText(key.node));
  cursor.offset += 1;
  const place = { parent: column, takesListAtParent: true, takesCollectionOnLine: false, owner: key.offset };
  const entry = makeEntry(cursor, key.node, key.offset, blockNode(cursor, place));
  return cursor.mark(entry, key.constructs);
}

/** `? key`, and on a line of its own `: value`. */
function explicitEntry(cursor: Cursor, column: number): Entry {
  const indicator = cursor.offset;
  const place = { parent: column, takesListAtParent: true, takesCollectionOnLine: true, owner: indicator };
  cursor.offset += 1;
  const key = blockNode(cursor, place);
  cursor.step(keyText(key));
  cursor.skip();
  const hasValue = cursor.isFirstOnLine && cursor.indent === column && !cursor.after_tab && cursor.isIndicator(":");
  if (!hasValue || cursor.isAtEnd) return makeEntry(cursor, key, key.offset, emptyNode(key.offset));
  cursor.offset += 1;
  return makeEntry(cursor, key, key.offset, blockNode(cursor, { ...place, owner: key.offset }));
}

function blockSequence(cursor: Cursor, column: number): SequenceNode {
  const { offset } = cursor;
  const items: Node[] = [];
  const place = { parent: column, takesListAtParent: false, takesCollectionOnLine: true, owner: offset };
  cursor.enter(offset);
  do {
    cursor.step(items.length);
    cursor.offset += 1;
    items.push(blockNode(cursor, place));
  } while (hasSibling(cursor, column) && cursor.isIndicator("-"));
  cursor.leave();
  return { kind: "sequence", offset, items };
}

/** From behind a part of a block collection: true when a further part may start at the next token. */
function hasSibling(cursor: Cursor, column: number): boolean {
  cursor.skip();
  if (cursor.isAtEnd) return false;
  if (!cursor.isFirstOnLine) {
    cursor.fail(cursor.offset, "nothing may follow here; does the text need quotes?");
  } else if (cursor.indent === column && !cursor.after_tab) {
    return true;
  } else if (cursor.after_tab) {
    cursor.fail(cursor.line_start, "this line is indented with a tab; use spaces");
  } else if (cursor.indent > column) {
    cursor.fail(cursor.offset, "this line is indented further than its neighbours");
  }
  return false;
}
