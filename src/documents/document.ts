/**
 * The strict reader of every YAML file that a person writes: turns bytes into a tree whose values have positions, or into findings.
 *
 * It does stages 1 and 2 of SPEC section 5: size, encoding, syntax, one document; depth, forbidden constructs, duplicate keys. The caller
 * checks the values (fields.ts).
 */
import { isUtf8 } from "node:buffer";

import type { Finding } from "./findings.ts";
import { FindingList } from "./finding-list.ts";
import { Lines, type Position } from "./lines.ts";
import { below, parsePointer, type Path } from "./pointer.ts";
import { shown } from "./shown.ts";
import type { Entry, MappingNode, Node } from "./tree.ts";
import { readYaml, TOKEN_LIMIT, type YamlDocument } from "./yaml.ts";

/** The name of a document in messages. */
export type Subject = "manifest" | "configuration" | "catalog" | "fleet" | "registration";

export interface DocumentRules {
  readonly subject: Subject;
  readonly sizeLimitBytes: number;
}

/** The deepest level of a value below the root. */
const DEPTH_LIMIT = 32;

export class Document {
  readonly text: string;
  readonly root: Node;
  readonly lines: Lines;

  constructor(text: string, root: Node, lines: Lines) {
    this.text = text;
    this.root = root;
    this.lines = lines;
  }

  /** The position of a JSON Pointer; for a missing value, that of the nearest ancestor. */
  locate(loc: string): Position {
    let node = this.root;
    for (const step of parsePointer(loc)) {
      const next = child(node, step);
      if (next === undefined) break;
      node = next;
    }
    return this.lines.position(node.offset);
  }
}

export type DocumentReading =
  | { readonly kind: "document"; readonly document: Document }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

export function readDocument(bytes: Uint8Array, rules: DocumentRules): DocumentReading {
  const { subject, sizeLimitBytes } = rules;
  if (bytes.byteLength > sizeLimitBytes) {
    return refuse("too_large", `${subject} is ${bytes.byteLength} bytes; the limit is ${sizeLimitBytes}`);
  }
  if (!isUtf8(bytes)) return refuse("not_utf8", `${subject} is not valid UTF-8`);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const yaml = readYaml(text);
  const lines = new Lines(text);
  switch (yaml.kind) {
    case "syntax":
      return refuse("yaml_syntax", yaml.message, lines.position(yaml.offset));
    case "size":
      return refuse("too_large", `${subject} holds more than ${TOKEN_LIMIT} words and marks of YAML`);
    case "second-document":
      return refuse("yaml_documents", "one document per file; a second one starts here", lines.position(yaml.offset));
    case "document":
      return checkDocument(yaml, text, lines, subject);
  }
}

function refuse(id: string, message: string, position: Position = { line: 1, column: 1 }): DocumentReading {
  return { kind: "refused", findings: [{ id, severity: "error", loc: "", message, ...position }] };
}

function checkDocument(yaml: YamlDocument, text: string, lines: Lines, subject: string): DocumentReading {
  const findings = new FindingList(lines);
  const isClean = yaml.constructs.size === 0 && yaml.directives.length === 0;
  for (const offset of yaml.directives)
    findings.error("yaml_forbidden", null, offset, `a directive is not allowed in a ${subject}`);
  const walk: Walk = { yaml, findings, subject, isClean, isTooDeep: false };
  checkNode(walk, yaml.root, null, 0);
  if (findings.hasError) return { kind: "refused", findings: findings.toFindings() };
  return { kind: "document", document: new Document(text, yaml.root, lines) };
}

interface Walk {
  readonly yaml: YamlDocument;
  readonly findings: FindingList;
  readonly subject: string;
  /** The document has no forbidden constructs, so the walk does not look for them. */
  readonly isClean: boolean;
  isTooDeep: boolean;
}

function checkNode(walk: Walk, node: Node, path: Path, depth: number): void {
  if (depth > DEPTH_LIMIT && !walk.isTooDeep) {
    walk.isTooDeep = true;
    walk.findings.error("too_deep", path, node.offset, `nested more than ${DEPTH_LIMIT} levels`);
  }
  if (!walk.isClean) reportConstructs(walk, node, path, node.offset);
  if (node.kind === "sequence") {
    for (const [index, item] of node.items.entries()) checkNode(walk, item, below(path, index), depth + 1);
  } else if (node.kind === "mapping") {
    checkKeys(walk, node, path);
    for (const entry of node.entries) checkNode(walk, entry.value, below(path, entry.key), depth + 1);
  }
}

function checkKeys(walk: Walk, node: MappingNode, path: Path): void {
  const seen = new Map<string, Entry>();
  for (const entry of node.entries) {
    const constructs = walk.isClean ? [] : (walk.yaml.constructs.get(entry) ?? []);
    const isScalar = !constructs.includes("a key that is not a scalar");
    if (!walk.isClean) reportConstructs(walk, entry, isScalar ? below(path, entry.key) : path, entry.keyOffset);
    if (!isScalar) continue;
    const first = seen.get(entry.key);
    if (first === undefined) {
      seen.set(entry.key, entry);
    } else {
      const message = `key ${shown(entry.key)} is already set at line ${walk.findings.line(first.keyOffset)}`;
      walk.findings.error("yaml_duplicate_key", below(path, entry.key), entry.keyOffset, message);
    }
  }
}

function reportConstructs(walk: Walk, owner: Node | Entry, path: Path, offset: number): void {
  for (const construct of walk.yaml.constructs.get(owner) ?? []) {
    walk.findings.error("yaml_forbidden", path, offset, `${construct} is not allowed in a ${walk.subject}`);
  }
}

function child(node: Node, step: string): Node | undefined {
  switch (node.kind) {
    case "mapping":
      return node.entries.find((entry) => entry.key === step)?.value;
    case "sequence":
      return /^\d+$/.test(step) ? node.items[Number(step)] : undefined;
    case "scalar":
      return undefined;
  }
}
