/**
 * Reads short YAML 1.2 documents with the `yaml` package. The documents are untrusted. Anchors, aliases, tags and directives are reported, never
 * resolved.
 */
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type ParsedNode,
  Parser,
  type YAMLMap,
} from "yaml";

import type { Construct, Entry, MappingNode, Node, ScalarNode } from "./tree.ts";

/** Limit of tokens, which keeps the tree of a hostile text of 1 MiB below 100 MB. */
export const TOKEN_LIMIT = 50_000;
/** Deeper collections are not read. The limit for documents (document.ts) is lower. */
const NESTING_LIMIT = 128;
/** Limit of empty lines that are parsed at the end of a padded file. */
const PADDING_LIMIT = 100;
/** Characters that YAML forbids (YAML 1.2.2, section 5.1), and lone carriage returns, which other readers do not treat as line ends. */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n)/;

export interface YamlDocument {
  readonly kind: "document";
  /** A null scalar for an empty text or document. */
  readonly root: Node;
  /** Forbidden constructs by node; for a key, by entry. */
  readonly constructs: ReadonlyMap<object, readonly Construct[]>;
  /** Offsets of the directives' lines. */
  readonly directives: readonly number[];
}

/** Why a text cannot be parsed completely. */
export type YamlFailure =
  | { readonly kind: "syntax"; readonly offset: number; readonly message: string }
  /** More than `TOKEN_LIMIT`. */
  | { readonly kind: "size" }
  /** A second document starts at `offset`. */
  | { readonly kind: "second-document"; readonly offset: number };

export function readYaml(text: string): YamlDocument | YamlFailure {
  const unprintable = UNPRINTABLE.exec(text);
  if (unprintable !== null) {
    const code = unprintable[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return { kind: "syntax", offset: unprintable.index, message: `a control character (U+${code})` };
  }
  const parsed = parse(text);
  if (parsed === null) return { kind: "size" };
  const { documents, directives, isCut } = parsed;
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined && !isCut)
    return { kind: "syntax", offset: error.pos[0], message: withoutSource(error.message) };
  const [first, second] = documents;
  if (second !== undefined) return { kind: "second-document", offset: second.range[0] };
  const constructs = new Map<object, readonly Construct[]>();
  return { kind: "document", root: nodeOf(first?.contents ?? null, 0, constructs), constructs, directives };
}

const LINE_FEED = 10;

interface Parsed {
  readonly documents: readonly Document.Parsed[];
  readonly directives: readonly number[];
  /** Nested too deep to be read completely. */
  readonly isCut: boolean;
}

/** Null for more than `TOKEN_LIMIT` tokens. Parses token by token to stop before a hostile text takes much memory. */
function parse(text: string): Parsed | null {
  const parser = new Parser();
  const composer = new Composer({
    schema: "failsafe",
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: "silent",
    prettyErrors: false,
  });
  const documents: Document.Parsed[] = [];
  const directives: number[] = [];
  const take = (tokens: ReturnType<Parser["next"]>) => {
    for (const token of tokens) {
      if (token.type === "directive") directives.push(token.offset);
      else documents.push(...composer.next(token));
    }
  };
  let count = 0;
  let isCut = false;
  for (const word of new Lexer().lex(withoutPadding(text))) {
    count += 1;
    if (count > TOKEN_LIMIT) return null;
    take(parser.next(word));
    isCut = parser.stack.length > NESTING_LIMIT;
    if (isCut) break;
  }
  take(parser.end());
  documents.push(...composer.end(true, text.length));
  return { documents, directives, isCut };
}

/** Cuts a parser message at the colon: after it some messages quote the source, which may be a secret or very long. */
function withoutSource(message: string): string {
  return message.replace(/(?<=\w): .*/s, "");
}

function withoutPadding(text: string): string {
  let end = text.length;
  while (text.charCodeAt(end - 1) === LINE_FEED) end -= 1;
  return text.slice(0, end + PADDING_LIMIT);
}

type Constructs = Map<object, readonly Construct[]>;

/** @param owner the position for a missing value: that of its key or list. */
function nodeOf(node: ParsedNode | null, owner: number, constructs: Constructs): Node {
  const read = unmarked(node, owner, constructs);
  const found = constructsOf(node);
  if (found.length > 0) constructs.set(read, found);
  return read;
}

function unmarked(node: ParsedNode | null, owner: number, constructs: Constructs): Node {
  if (isMap(node)) return mappingOf(node, constructs);
  if (isSeq(node)) {
    const [offset] = node.range;
    return { kind: "sequence", offset, items: node.items.map((item) => nodeOf(item, offset, constructs)) };
  }
  return scalarOf(node, owner);
}

function scalarOf(node: ParsedNode | null, owner: number): ScalarNode {
  const text = textOf(node);
  const plain = node === null || (isScalar(node) && node.type === "PLAIN");
  return { kind: "scalar", offset: node === null || (plain && text === "") ? owner : node.range[0], plain, text };
}

function mappingOf(node: YAMLMap.Parsed, constructs: Constructs): MappingNode {
  const entries = node.items.map(({ key, value }) => {
    const keyOffset = key.range[0];
    const entry: Entry = { key: textOf(key), keyOffset, value: nodeOf(value, keyOffset, constructs) };
    const found = keyConstructsOf(key);
    if (found.length > 0) constructs.set(entry, found);
    return entry;
  });
  return { kind: "mapping", offset: node.flow === true ? node.range[0] : (entries[0]?.keyOffset ?? 0), entries };
}

/** Empty for a collection. */
function textOf(node: ParsedNode | null): string {
  if (isAlias(node)) return `*${node.source}`;
  return isScalar(node) ? node.source : "";
}

function keyConstructsOf(key: ParsedNode): readonly Construct[] {
  const found = constructsOf(key);
  if (isMap(key) || isSeq(key)) return [...found, "a key that is not a scalar"];
  return isScalar(key) && key.type === "PLAIN" && key.value === "<<" ? [...found, "a merge key"] : found;
}

function constructsOf(node: ParsedNode | null): readonly Construct[] {
  if (isAlias(node)) return ["an alias"];
  const found: Construct[] = [];
  if (node?.anchor !== undefined) found.push("an anchor");
  if (node?.tag !== undefined) found.push("a tag");
  return found;
}
