import type { Cursor } from "./cursor.ts";
import { ALIAS_WITH_PROPERTIES, aliasNode, emptyNode, keyText, makeEntry } from "./nodes.ts";
import { properties } from "./properties.ts";
import { plainContinuation, plainLine, quotedText, startsPlain } from "./scalars.ts";
import type { Entry, MappingNode, Node, SequenceNode } from "./tree.ts";

/** Where a flow collection stands. */
interface Surroundings {
  /** Its later lines are indented by more than this. */
  readonly parent: number;
  readonly isNested: boolean;
}

/** The inside of a flow collection. */
interface Inside extends Surroundings {
  readonly bracket: "]" | "}";
}

/** Reads `[…]` or `{…}` (YAML 1.2.2, section 7.4). */
export function flowCollection(cursor: Cursor, around: Surroundings): SequenceNode | MappingNode {
  return cursor.character === "[" ? flowSequence(cursor, around) : flowMapping(cursor, around);
}

function flowSequence(cursor: Cursor, around: Surroundings): SequenceNode {
  const { offset } = cursor;
  const inside: Inside = { ...around, bracket: "]" };
  const items: Node[] = [];
  open(cursor);
  while (hasPart(cursor, inside)) {
    cursor.step(items.length);
    items.push(flowItem(cursor, inside, offset));
    endPart(cursor, inside);
  }
  close(cursor, offset, inside);
  return { kind: "sequence", offset, items };
}

function flowMapping(cursor: Cursor, around: Surroundings): MappingNode {
  const { offset } = cursor;
  const inside: Inside = { ...around, bracket: "}" };
  const entries: Entry[] = [];
  open(cursor);
  while (hasPart(cursor, inside)) {
    entries.push(flowEntry(cursor, inside));
    endPart(cursor, inside);
  }
  close(cursor, offset, inside);
  return { kind: "mapping", offset, entries };
}

function open(cursor: Cursor): void {
  cursor.enter(cursor.offset);
  if (cursor.failure === null) cursor.offset += 1;
}

function close(cursor: Cursor, start: number, { bracket }: Inside): void {
  if (cursor.character === bracket) cursor.offset += 1;
  else cursor.fail(start, `the ${bracket} to this bracket is missing`);
  cursor.leave();
}

/** Moves to the next part; false before the closing bracket and at the end of the text. */
function hasPart(cursor: Cursor, inside: Inside): boolean {
  skipInside(cursor, inside);
  if (cursor.character === ",") cursor.fail(cursor.offset, "nothing stands before this comma");
  return cursor.offset < cursor.text.length && cursor.character !== inside.bracket;
}

/** Moves over the comma after a part. */
function endPart(cursor: Cursor, inside: Inside): void {
  skipInside(cursor, inside);
  if (cursor.character === ",") cursor.offset += 1;
  else if (cursor.offset < cursor.text.length && cursor.character !== inside.bracket) {
    cursor.fail(cursor.offset, `expected , or ${inside.bracket}`);
  }
}

function skipInside(cursor: Cursor, { parent, isNested, bracket }: Inside): void {
  cursor.skip();
  if (!cursor.isFirstOnLine || cursor.offset >= cursor.text.length) return;
  if (cursor.isAtEnd) cursor.fail(cursor.offset, `the ${bracket} to a bracket above is missing`);
  if (cursor.indent > parent) return;
  // Strictly, the last bracket has to be indented too; everyone writes it below the key, and every reader takes it.
  const isClosing = !isNested && cursor.character === bracket && cursor.indent === parent;
  if (!isClosing)
    cursor.fail(
      cursor.offset,
      `this line is inside brackets and must be indented further; is a ${bracket} missing above?`,
    );
}

/** An item of a sequence: a value, or `key: value`, which is a mapping of one. */
function flowItem(cursor: Cursor, inside: Inside, owner: number): Node {
  const { offset } = cursor;
  if (cursor.isIndicator("?") || cursor.isFlowValueIndicator(false))
    return pair(cursor, offset, () => flowEntry(cursor, inside));
  const node = flowNode(cursor, inside, owner);
  const end = cursor.offset;
  cursor.skipBlanks();
  if (!cursor.isFlowValueIndicator(isJson(node))) return node;
  if (!cursor.mayBeKey(offset)) cursor.fail(end, "a key inside [ ] must be on one line with its colon");
  return pair(cursor, node.offset, () => flowValue(cursor, inside, node, node.offset));
}

function pair(cursor: Cursor, start: number, readEntry: () => Entry): MappingNode {
  cursor.enter(start);
  const entry = readEntry();
  cursor.leave();
  return { kind: "mapping", offset: entry.key_offset, entries: [entry] };
}

function flowEntry(cursor: Cursor, inside: Inside): Entry {
  if (cursor.isIndicator("?")) {
    cursor.offset += 1;
    skipInside(cursor, inside);
  }
  const { offset } = cursor;
  const key = isPartEnd(cursor) ? null : flowNode(cursor, inside, offset);
  skipInside(cursor, inside);
  return flowValue(cursor, inside, key, key?.offset ?? offset);
}

/** From behind a key: its value, if it has one. */
function flowValue(cursor: Cursor, inside: Inside, key: Node | null, key_offset: number): Entry {
  cursor.step(keyText(key));
  if (!cursor.isFlowValueIndicator(key !== null && isJson(key)))
    return makeEntry(cursor, key, key_offset, emptyNode(key_offset));
  cursor.offset += 1;
  skipInside(cursor, inside);
  const value = isPartEnd(cursor) ? emptyNode(key_offset) : flowNode(cursor, inside, key_offset);
  return makeEntry(cursor, key, key_offset, value);
}

function flowNode(cursor: Cursor, inside: Inside, owner: number): Node {
  const constructs = properties(cursor, true);
  if (constructs.length > 0) skipInside(cursor, inside);
  if (constructs.length > 0 && cursor.character === "*") cursor.fail(cursor.offset, ALIAS_WITH_PROPERTIES);
  const node = constructs.length > 0 && isPartEnd(cursor) ? emptyNode(owner) : flowContent(cursor, inside);
  return cursor.mark(node, constructs);
}

function flowContent(cursor: Cursor, inside: Inside): Node {
  const { offset } = cursor;
  switch (cursor.character) {
    case "[":
    case "{":
      return flowCollection(cursor, { parent: inside.parent, isNested: true });
    case '"':
    case "'":
      return { kind: "scalar", offset, plain: false, text: quotedText(cursor, inside.parent) };
    case "*":
      return aliasNode(cursor);
  }
  if (!startsPlain(cursor, true)) return emptyNode(offset);
  const text = plainContinuation(cursor, plainLine(cursor, true), inside.parent, true);
  return { kind: "scalar", offset, plain: true, text };
}

/** True where a value could stand and none does. */
function isPartEnd(cursor: Cursor): boolean {
  return ",]}".includes(cursor.character) || cursor.isFlowValueIndicator(false);
}

/** After these the colon needs no white space: JSON has none. */
function isJson(node: Node): boolean {
  return node.kind !== "scalar" || !node.plain;
}
