import type { Cursor } from "./cursor.ts";
import { word } from "./properties.ts";
import type { Entry, Node, ScalarNode } from "./tree.ts";

export const ALIAS_WITH_PROPERTIES = "an alias has no anchor or tag of its own";

/** A value that is not written; it is found where its key or list is. */
export function emptyNode(owner: number): ScalarNode {
  return { kind: "scalar", offset: owner, plain: true, text: "" };
}

/** Reads `*name`; what it stands for does not matter, it is refused. */
export function aliasNode(cursor: Cursor): ScalarNode {
  const { offset } = cursor;
  const text = word(cursor);
  if (text === "*") cursor.fail(offset, "a text that starts with * needs quotes");
  return cursor.mark({ kind: "scalar", offset, plain: false, text }, ["an alias"]);
}

/** Makes an entry; what is wrong with its key is noted for the entry. */
export function makeEntry(cursor: Cursor, key: Node | null, key_offset: number, value: Node): Entry {
  const entry: Entry = { key: keyText(key), key_offset, value };
  if (key === null) return entry;
  cursor.mark(entry, cursor.constructs.get(key) ?? []);
  if (key.kind !== "scalar") cursor.mark(entry, ["a key that is not a scalar"]);
  else if (key.plain && key.text === "<<") cursor.mark(entry, ["a merge key"]);
  return entry;
}

export function keyText(key: Node | null): string {
  return key?.kind === "scalar" ? key.text : "";
}
