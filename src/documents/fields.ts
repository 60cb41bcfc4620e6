/**
 * Checks all values of a document in one run: a reader per key takes a value from the tree or reports a finding.
 *
 * A caller asks a mapping for each allowed key; all other keys are unknown. Texts that look like a credential or a placeholder are reported
 * before any reader gets them (SPEC sections 5 and 6).
 */
import type { Subject } from "./document.ts";
import type { Finding } from "./findings.ts";
import type { FindingList } from "./finding-list.ts";
import { nearest } from "./nearest.ts";
import { below, type Path } from "./pointer.ts";
import { isPlaceholder, isSecretKey, isSecretValue } from "./secrets.ts";
import { shown } from "./shown.ts";
import { type Entry, type MappingNode, type Node, scalarType } from "./tree.ts";

/** The state of one run over one document. */
export interface Check {
  readonly findings: FindingList;
  readonly subject: Subject;
  /** Where a secret belongs instead. */
  readonly secretAdvice: string;
  /** A draft may hold placeholders. */
  readonly placeholderSeverity: Finding["severity"];
  /** Messages for keys that belong to another file or place. */
  readonly hints: ReadonlyMap<string, string>;
  /** Number of placeholders so far; a document with one is not checked further. */
  placeholders: number;
}

/** A value in its document. */
export interface Place {
  readonly node: Node;
  readonly path: Path;
  readonly check: Check;
}

/** Where something is, to report it. */
export interface Spot extends Pick<Place, "path" | "check"> {
  readonly node: Pick<Node, "offset">;
}

/** JSON Schema (2020-12), for editors. */
export type Schema = Readonly<Record<string, unknown>>;

export interface Reader<T> {
  /** Returns the value, or reports findings and returns undefined. */
  (place: Place): T | undefined;
  /** The values that it accepts, as far as a schema can say it; for editors. */
  readonly schema?: Schema;
}

export function described<T>(schema: Schema, read: (place: Place) => T | undefined): Reader<T> {
  return Object.assign(read, { schema });
}

/** Reads a value unless it is a secret or a placeholder. */
export function read<T>(place: Place, reader: Reader<T>): T | undefined {
  const { node, path, check } = place;
  if (node.kind !== "scalar" || scalarType(node) !== "string") return reader(place);
  if (isSecretValue(node.text)) {
    reportSecret(check, path, node.offset);
    return undefined;
  }
  if (isPlaceholder(node.text)) {
    check.placeholders += 1;
    check.findings.add(
      check.placeholderSeverity,
      "placeholder",
      path,
      node.offset,
      () => `replace the placeholder ${shown(node.text)}`,
    );
    return undefined;
  }
  return reader(place);
}

/** Reads a mapping whose keys `readFields` asks for; other keys are unknown. */
export function mapping<T>(readFields: (fields: Fields, place: Place) => T | undefined): Reader<T> {
  return (place) => {
    const fields = fieldsOf(place);
    if (fields === undefined) return undefined;
    const value = readFields(fields, place);
    fields.close();
    return value;
  };
}

/** The entries of a mapping, asked for by key. Ask for every key, then `close`. */
export class Fields {
  readonly #place: Place;
  readonly #node: MappingNode;
  readonly #known = new Set<string>();

  constructor(place: Place, node: MappingNode) {
    this.#place = place;
    this.#node = node;
  }

  optional<T>(key: string, reader: Reader<T>): T | undefined {
    this.#known.add(key);
    const entry = this.#entry(key);
    return entry === undefined ? undefined : read(this.place(entry), reader);
  }

  required<T>(key: string, reader: Reader<T>): T | undefined {
    if (this.#entry(key) === undefined) {
      const { path, check } = this.#place;
      check.findings.error("missing", below(path, key), this.#node.offset, `${key} is required`);
    }
    return this.optional(key, reader);
  }

  /** Accepts a key without reading its value, which is only searched for secrets. @returns its entry, if it is present. */
  skip(key: string): Entry | undefined {
    this.#known.add(key);
    const entry = this.#entry(key);
    if (entry !== undefined) findSecrets(this.place(entry));
    return entry;
  }

  place(entry: Entry): Place {
    return { node: entry.value, path: below(this.#place.path, entry.key), check: this.#place.check };
  }

  /** Reports the keys that were not asked for. */
  close(): void {
    for (const entry of this.#node.entries) {
      if (this.#known.has(entry.key)) continue;
      const place = this.place(entry);
      if (isSecretKey(entry.key)) {
        reportSecret(place.check, place.path, entry.keyOffset, entry.key);
        continue;
      }
      if (!entry.key.startsWith("x-")) this.#reportUnknown(entry, place);
      findSecrets(place);
    }
  }

  #entry(key: string): Entry | undefined {
    return this.#node.entries.find((entry) => entry.key === key);
  }

  #reportUnknown({ key, keyOffset }: Entry, { check, path }: Place): void {
    check.findings.error("unknown_key", path, keyOffset, () => {
      const near = nearest(key, this.#known);
      const hint = check.hints.get(key) ?? (near === undefined ? undefined : `did you mean ${near}?`);
      return `unknown key ${shown(key)}; ${hint ?? `known here: ${[...this.#known].join(", ")}`}`;
    });
  }
}

/** The fields of a mapping. Reports any other value. */
export function fieldsOf(place: Place): Fields | undefined {
  const { node } = place;
  if (node.kind === "mapping") return new Fields(place, node);
  return wrongType(place, "a mapping");
}

/** Reports an error at a value. @returns undefined, as a reader does then. */
export function fail({ node, path, check }: Spot, id: string, message: string | (() => string)): undefined {
  check.findings.error(id, path, node.offset, message);
}

export function wrongType(place: Place, expected: string, hint = ""): undefined {
  const { node, path, check } = place;
  check.findings.error("wrong_type", path, node.offset, `expected ${expected}, found ${typeName(node)}${hint}`);
  findSecrets(place);
}

/** Reports secrets in a value that no reader checks. */
export function findSecrets(place: Place): void {
  const { node, path, check } = place;
  switch (node.kind) {
    case "scalar":
      if (scalarType(node) === "string" && isSecretValue(node.text)) reportSecret(check, path, node.offset);
      return;
    case "sequence":
      for (const [index, item] of node.items.entries()) findSecrets({ node: item, path: below(path, index), check });
      return;
    case "mapping":
      for (const { key, keyOffset, value } of node.entries) {
        if (isSecretKey(key)) reportSecret(check, below(path, key), keyOffset, key);
        else findSecrets({ node: value, path: below(path, key), check });
      }
  }
}

/** @param key the name in the message; by default the last step of `path`. */
export function reportSecret(check: Check, path: Path, offset: number, key?: string): void {
  const name = shown(key ?? String(path?.step ?? "the value"));
  const message = `${name} looks like a secret; a ${check.subject} must not carry one${check.secretAdvice}`;
  check.findings.error(`secret_in_${check.subject}`, path, offset, message);
}

function typeName(node: Node): string {
  if (node.kind === "sequence") return "a list";
  if (node.kind === "mapping") return "a mapping";
  switch (scalarType(node)) {
    case "string":
      return "a text";
    case "number":
      return "a number";
    case "boolean":
      return "true or false";
    case "null":
      return node.text === "" ? "nothing" : "null";
  }
}
