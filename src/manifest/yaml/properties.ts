import type { Cursor } from "./cursor.ts";
import { isBlankOrBreakOrEnd, isFlowIndicator } from "./cursor.ts";
import type { Construct } from "./tree.ts";

/** Reads the anchor and the tag that may stand before a value on its line. What they say does not matter: they are refused. */
export function properties(cursor: Cursor, isFlow: boolean): readonly Construct[] {
  const constructs: Construct[] = [];
  for (;;) {
    const { character, offset } = cursor;
    if (character !== "&" && character !== "!") return constructs;
    const construct: Construct = character === "&" ? "an anchor" : "a tag";
    if (constructs.includes(construct)) cursor.fail(offset, `a value has ${construct} at most once`);
    const name = character === "!" && cursor.text.startsWith("!<", offset) ? verbatimTag(cursor) : word(cursor);
    if (construct === "an anchor" && name === "&") cursor.fail(offset, "a text that starts with & needs quotes");
    if (cursor.failure !== null) return [];
    constructs.push(construct);
    const isEnded = isBlankOrBreakOrEnd(cursor.peek()) || (isFlow && isFlowIndicator(cursor.peek()));
    if (!isEnded) cursor.fail(cursor.offset, `white space is missing after ${construct}`);
    cursor.skipBlanks();
  }
}

/** The characters of an anchor, an alias or a tag, with its indicator. */
export function word(cursor: Cursor): string {
  const start = cursor.offset;
  while (!isBlankOrBreakOrEnd(cursor.peek()) && !isFlowIndicator(cursor.peek())) cursor.offset += 1;
  return cursor.text.slice(start, cursor.offset);
}

function verbatimTag(cursor: Cursor): string {
  const start = cursor.offset;
  while (cursor.character !== ">" && !isBlankOrBreakOrEnd(cursor.peek())) cursor.offset += 1;
  if (cursor.character === ">") cursor.offset += 1;
  else cursor.fail(start, "this tag does not end with >");
  return cursor.text.slice(start, cursor.offset);
}
