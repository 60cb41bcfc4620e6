/**
 * Opens the YAML 1.2 files that people write, with the `yaml` package: bytes become plain values with positions, or findings.
 *
 * These are stages 1 and 2 of the manifest's specification, section 5: size, encoding, syntax, one document; depth, forbidden constructs,
 * duplicate keys. The files are untrusted: tokens and depth are bounded, and anchors, aliases, tags and directives are reported, never
 * resolved. read.ts holds the values to a schema.
 */
import { isUtf8 } from "node:buffer";

import {
  Composer,
  type Document as YamlDocument,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type ParsedNode,
  Parser,
} from "yaml";

import { type Finding, FindingList, type Path, parsePointer, placed, type Position } from "./findings.ts";
import { codePoints, shown } from "./texts.ts";

/** The name of a document in messages. */
export type Subject = "manifest" | "configuration" | "catalog";

export interface DocumentRules {
  readonly subject: Subject;
  readonly sizeLimitBytes: number;
}

/** A value in its document. Offsets are UTF-16 indexes into the text. */
export interface Node {
  /** The first character of the value, after an anchor or tag; for an empty value, that of its key or list. */
  readonly offset: number;
  /** The first character of its key; in a list and at the root, that of the value. */
  readonly keyOffset: number;
  /** As JSON has it. A number in another notation than that of JSON is NaN. */
  readonly value: unknown;
  /** The text of a scalar, without its quotes; null for lists and mappings. */
  readonly source: string | null;
  /** By key, or by index as a text. */
  readonly children: ReadonlyMap<string, Node>;
}

export interface Document {
  readonly text: string;
  readonly root: Node;
  /** The node at a path; undefined where nothing is written. */
  node(path: Path): Node | undefined;
  /** The offset of a path; for a missing value, that of the nearest ancestor. */
  offset(path: Path): number;
  /** The position of a UTF-16 offset. */
  position(offset: number): Position;
  /** The position of a JSON Pointer, as `offset` has it. */
  locate(loc: string): Position;
}

export type DocumentOpening =
  | { readonly kind: "document"; readonly document: Document }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

/** Keeps the tree of a hostile text of 1 MiB below 100 MB. */
export const TOKEN_LIMIT = 50_000;
/** The deepest level of a value below the root. */
const DEPTH_LIMIT = 32;
/** Deeper collections are not parsed, because the composer is recursive. */
const NESTING_LIMIT = 128;
/** Limit of empty lines that are parsed at the end of a padded file. */
const PADDING_LIMIT = 100;
const LINE_FEED = 10;
/** Characters that YAML forbids (YAML 1.2.2, section 5.1), and lone carriage returns, which other readers do not treat as line ends. */
// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\0-\x08\x0b\x0c\x0e-\x1f]|\r(?!\n)/;
/** Numbers in JSON syntax; no other notation is accepted. */
const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/;

export function openDocument(bytes: Uint8Array, { subject, sizeLimitBytes }: DocumentRules): DocumentOpening {
  if (bytes.byteLength > sizeLimitBytes) {
    return refuse("too_large", `${subject} is ${bytes.byteLength} bytes; the limit is ${sizeLimitBytes}`);
  }
  if (!isUtf8(bytes)) return refuse("not_utf8", `${subject} is not valid UTF-8`);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const position = positionsOf(text);
  const unprintable = UNPRINTABLE.exec(text);
  if (unprintable !== null) {
    const code = unprintable[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
    return refuse("yaml_syntax", `a control character (U+${code})`, position(unprintable.index));
  }
  const parsed = parse(text);
  if (parsed === null) return refuse("too_large", `${subject} holds more than ${TOKEN_LIMIT} words and marks of YAML`);
  const { documents, directives, isCut } = parsed;
  const [error] = documents.flatMap(({ errors }) => errors);
  if (error !== undefined && !isCut) {
    return refuse("yaml_syntax", withoutSource(error.message), position(error.pos[0]));
  }
  const [first, second] = documents;
  if (second !== undefined) {
    return refuse("yaml_documents", "one document per file; a second one starts here", position(second.range[0]));
  }
  const findings = new FindingList(() => 0);
  const walk: Walk = { subject, findings, isTooDeep: false, lineOf: (offset) => position(offset).line };
  for (const offset of directives) forbid(walk, "a directive", [], offset);
  const root = nodeOf(walk, first?.contents ?? null, [], { offset: 0, keyOffset: null });
  if (findings.hasError) return { kind: "refused", findings: placed(findings.mistakes, position) };
  return { kind: "document", document: documentOf(text, root, position) };
}

function refuse(id: string, message: string, position: Position = { line: 1, column: 1 }): DocumentOpening {
  return { kind: "refused", findings: [{ id, severity: "error", loc: "", message, ...position }] };
}

interface Parsed {
  readonly documents: readonly YamlDocument.Parsed[];
  /** Offsets of the directives' lines. */
  readonly directives: readonly number[];
  /** Nested too deep to be read completely. */
  readonly isCut: boolean;
}

/** Null for more than `TOKEN_LIMIT` tokens. Parses token by token to stop before a hostile text takes much memory. */
function parse(text: string): Parsed | null {
  const parser = new Parser();
  const composer = new Composer({
    schema: "core",
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: "silent",
    prettyErrors: false,
  });
  const documents: YamlDocument.Parsed[] = [];
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

/** The conversion of parsed YAML to nodes, and what is wrong with its form. */
interface Walk {
  readonly subject: string;
  readonly findings: FindingList;
  isTooDeep: boolean;
  lineOf(offset: number): number;
}

/** Where a node belongs: the offset of its key, if it has one, and the offset that stands for an empty value. */
interface Owner {
  readonly offset: number;
  readonly keyOffset: number | null;
}

function nodeOf(walk: Walk, parsed: ParsedNode | null, path: Path, owner: Owner): Node {
  const offset = offsetOf(parsed, owner);
  const keyOffset = owner.keyOffset ?? offset;
  reportConstructs(walk, parsed, path, offset);
  if (path.length > DEPTH_LIMIT && !walk.isTooDeep) {
    walk.isTooDeep = true;
    walk.findings.error("too_deep", path, `nested more than ${DEPTH_LIMIT} levels`, offset);
  }
  if (isSeq(parsed)) {
    const items = parsed.items.map((item, index) => nodeOf(walk, item, [...path, index], { offset, keyOffset: null }));
    const children = new Map(items.map((item, index) => [String(index), item]));
    return { offset, keyOffset, value: items.map(({ value }) => value), source: null, children };
  }
  if (isMap(parsed)) {
    const children = childrenOf(walk, parsed, path);
    // Without a prototype, so that no key has a value that nobody wrote.
    const value: Record<string, unknown> = Object.create(null);
    for (const [key, child] of children) value[key] = child.value;
    return { offset, keyOffset, value, source: null, children };
  }
  const source = textOf(parsed);
  return { offset, keyOffset, value: scalarOf(parsed, source), source, children: NONE };
}

const NONE: ReadonlyMap<string, Node> = new Map();

function childrenOf(walk: Walk, { items }: Extract<ParsedNode, { items: { key: unknown }[] }>, path: Path) {
  const children = new Map<string, Node>();
  for (const { key, value } of items) {
    const keyOffset = key.range[0];
    const name = textOf(key);
    const below = [...path, name];
    const child = nodeOf(walk, value, below, { offset: keyOffset, keyOffset });
    if (isMap(key) || isSeq(key)) {
      reportConstructs(walk, key, path, keyOffset);
      forbid(walk, "a key that is not a scalar", path, keyOffset);
      continue;
    }
    reportConstructs(walk, key, below, keyOffset);
    if (isScalar(key) && key.type === "PLAIN" && name === "<<") forbid(walk, "a merge key", below, keyOffset);
    const first = children.get(name);
    if (first === undefined) {
      children.set(name, child);
      continue;
    }
    const message = () => `key ${shown(name)} is already set at line ${walk.lineOf(first.keyOffset)}`;
    walk.findings.error("yaml_duplicate_key", below, message, keyOffset);
  }
  return children;
}

function offsetOf(parsed: ParsedNode | null, owner: Owner): number {
  if (parsed === null || (isScalar(parsed) && parsed.type === "PLAIN" && parsed.source === "")) return owner.offset;
  const [first] = isMap(parsed) && parsed.flow !== true ? parsed.items : [];
  return first === undefined ? parsed.range[0] : first.key.range[0];
}

/** The value of a scalar; a notation of numbers that JSON does not have gives NaN. */
function scalarOf(parsed: ParsedNode | null, source: string): unknown {
  if (!isScalar(parsed)) return parsed === null ? null : source;
  const { value } = parsed;
  // No negative zero.
  if (typeof value === "number") return JSON_NUMBER.test(source) ? value + 0 : Number.NaN;
  return typeof value === "boolean" || value === null ? value : source;
}

/** Empty for a collection. */
function textOf(parsed: ParsedNode | null): string {
  if (isAlias(parsed)) return `*${parsed.source}`;
  return isScalar(parsed) ? parsed.source : "";
}

function reportConstructs(walk: Walk, parsed: ParsedNode | null, path: Path, offset: number): void {
  if (isAlias(parsed)) {
    forbid(walk, "an alias", path, offset);
    return;
  }
  if (parsed?.anchor !== undefined) forbid(walk, "an anchor", path, offset);
  if (parsed?.tag !== undefined) forbid(walk, "a tag", path, offset);
}

function forbid({ findings, subject }: Walk, construct: string, path: Path, offset: number): void {
  findings.error("yaml_forbidden", path, `${construct} is not allowed in a ${subject}`, offset);
}

function documentOf(text: string, root: Node, position: Document["position"]): Document {
  const offset = (path: Path) => {
    let node = root;
    for (const step of path) {
      const next = node.children.get(String(step));
      if (next === undefined) break;
      node = next;
    }
    return node.offset;
  };
  return {
    text,
    root,
    position,
    node: (path) => path.reduce<Node | undefined>((node, step) => node?.children.get(String(step)), root),
    offset,
    locate: (loc) => position(offset(parsePointer(loc))),
  };
}

/**
 * Positions of offsets in a text, in code points; a byte order mark has no width. Counts on from the last answer in the same line, because a
 * line may be a megabyte long.
 */
function positionsOf(text: string): (offset: number) => Position {
  const lines = new LineCounter();
  let start = 0;
  do {
    lines.addNewLine(start);
    start = text.indexOf("\n", start) + 1;
  } while (start > 0);
  let last = { start: 0, offset: 0, column: 1 };
  return (offset) => {
    const { line, col } = lines.linePos(offset);
    const mark = line === 1 && text.charCodeAt(0) === 0xfeff ? 1 : 0;
    const start = Math.min(offset, offset - col + 1 + mark);
    const from = last.start === start && last.offset <= offset ? last : { offset: start, column: 1 };
    const column = from.column + codePoints(text, from.offset, offset);
    last = { start, offset, column };
    return { line, column };
  };
}
