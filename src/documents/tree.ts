/** The tree of a YAML text, with positions. Offsets are UTF-16 indexes into the text. */
export type Node = ScalarNode | SequenceNode | MappingNode;

export interface ScalarNode {
  readonly kind: "scalar";
  /** The first character of the value (after an anchor or tag); for an empty value, that of its key or list. */
  readonly offset: number;
  /** Written without quotes or block indicator: the core schema may make it a number, a boolean or null. */
  readonly plain: boolean;
  readonly text: string;
}

export interface SequenceNode {
  readonly kind: "sequence";
  readonly offset: number;
  readonly items: readonly Node[];
}

export interface MappingNode {
  readonly kind: "mapping";
  readonly offset: number;
  readonly entries: readonly Entry[];
}

export interface Entry {
  /** The key's text; empty for a key that is not a scalar. */
  readonly key: string;
  readonly keyOffset: number;
  readonly value: Node;
}

/** YAML constructs that are forbidden here, because tools and people read them differently. */
export type Construct =
  | "an anchor"
  | "an alias"
  | "a tag"
  | "a directive"
  | "a merge key"
  | "a key that is not a scalar";

export type ScalarType = "string" | "number" | "boolean" | "null";

const NULL = /^(?:~|null|Null|NULL)?$/;
const BOOLEAN = /^(?:true|True|TRUE|false|False|FALSE)$/;
const NUMBER =
  /^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** The type that the core schema gives a scalar (YAML 1.2.2, section 10.3.2). `no`, `1_000` and `10:40` are strings. */
export function scalarType(node: ScalarNode): ScalarType {
  // Most texts are strings by their first character: the check saves the patterns at boot.
  if (!node.plain || !isTyped(node.text)) return "string";
  if (NULL.test(node.text)) return "null";
  if (BOOLEAN.test(node.text)) return "boolean";
  return NUMBER.test(node.text) ? "number" : "string";
}

/** True when a plain text may not be a string: it is empty, or starts like a number, a boolean or null. */
function isTyped(text: string): boolean {
  return "~nNtTfF+-.0123456789".includes(text.charAt(0));
}

/** The value of a key in a mapping, or undefined. */
export function valueOf(node: MappingNode, key: string): Node | undefined {
  return node.entries.find((entry) => entry.key === key)?.value;
}
