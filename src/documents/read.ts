/**
 * Holds a document to a zod schema: a value, or everything that is wrong, each at its position.
 *
 * The schema says what is allowed; its own message (`error`) ends the sentence of a finding. This file words what zod found, and reports
 * what a schema cannot see: unknown keys, and texts that look like a credential or a placeholder (SPEC sections 5 and 6).
 * Mappings are `z.object`, not `z.strictObject`, because every mapping may have keys that begin with `x-`.
 */
import * as z from "zod";

import { type Finding, isError, type Mistake, type Path, placed, type Position } from "./findings.ts";
import { nearest } from "./nearest.ts";
import { refusalParameters } from "./schemas.ts";
import { isPlaceholder, isSecretKey, isSecretValue, secretOffset } from "./secrets.ts";
import { shown } from "./texts.ts";
import { type Document, type DocumentRules, type Node, openDocument } from "./yaml.ts";

export interface ReadingRules extends DocumentRules {
  /** Where a secret belongs instead; ends a sentence. */
  readonly secretAdvice: string;
  /** Messages for keys that belong to another file or place. */
  readonly hints: ReadonlyMap<string, string>;
}

/** The result of reading a file of settings. */
export interface SettingsReading<T> {
  readonly findings: readonly Finding[];
  /** Null when a finding is an error. */
  readonly value: T | null;
  /** The position of a JSON Pointer; for a missing value, that of the nearest ancestor. */
  locate(loc: string): Position;
}

/** What a valid file should say differently. */
export interface Doubt {
  readonly id: string;
  readonly path: Path;
  readonly message: string;
}

/** Reads a file of settings and reports all findings. @param doubts become warnings. */
export function readSettings<T>(
  bytes: Uint8Array,
  rules: ReadingRules,
  schema: z.ZodType<T>,
  doubts: (value: T) => readonly Doubt[] = () => [],
): SettingsReading<T> {
  const opening = openDocument(bytes, rules);
  if (opening.kind === "refused") return refusedReading(opening.findings);
  const { document } = opening;
  const { value, mistakes } = holdTo(schema, document, rules);
  const found = value === undefined ? mistakes : [...mistakes, ...secretsInText(document, rules)];
  const isRefused = value === undefined || found.some(isError);
  const warnings = isRefused ? [] : doubts(value).map((doubt) => mistakeAt(document, "warning", doubt));
  return {
    findings: placed([...found, ...warnings], document.position),
    value: isRefused ? null : value,
    locate: document.locate,
  };
}

/** The reading of a file that could not be opened as a document. */
export function refusedReading(findings: readonly Finding[]): SettingsReading<never> {
  return { findings, value: null, locate: () => ({ line: 1, column: 1 }) };
}

/** A mistake at a value; at a missing value, where its nearest ancestor is. */
export function mistakeAt(document: Document, severity: Finding["severity"], { id, path, message }: Doubt): Mistake {
  return { id, severity, path, offset: document.offset(path), message };
}

/** A key in a comment is as readable as one in a value. */
function secretsInText({ text }: Document, { subject, secretAdvice }: ReadingRules): readonly Mistake[] {
  const offset = secretOffset(text);
  if (offset === undefined) return [];
  const message = `this looks like a secret; a ${subject} must not carry one${secretAdvice}`;
  return [{ id: `secret_in_${subject}`, severity: "error", path: [], offset, message }];
}

export interface Held<T> {
  /** Undefined when something is wrong, or a placeholder is left. */
  readonly value: T | undefined;
  readonly mistakes: readonly Mistake[];
}

/** @param placeholders how bad a placeholder is: a draft may hold them. */
export function holdTo<T>(
  schema: z.ZodType<T>,
  document: Document,
  rules: ReadingRules,
  placeholders: Finding["severity"] = "error",
): Held<T> {
  const { root } = document;
  // Messages are empty unless the schema has its own.
  const { data, error } = schema.safeParse(root.value, { error: () => "", jitless: true });
  const inspection: Inspection = { rules, placeholders, mistakes: [], spent: new Set() };
  inspect(inspection, root, schema, []);
  const { mistakes, spent } = inspection;
  const issues = error?.issues.flatMap((issue) => mistakesOf(issue, [], { document, spent })) ?? [];
  return { value: spent.size === 0 && mistakes.length === 0 ? data : undefined, mistakes: [...mistakes, ...issues] };
}

interface Inspection {
  readonly rules: ReadingRules;
  readonly placeholders: Finding["severity"];
  readonly mistakes: Mistake[];
  /** Nodes that are reported: what the schema says of them is not. */
  readonly spent: Set<Node>;
}

/** Reports unknown keys, secrets and placeholders. @param schema of the node; undefined below keys that are not read. */
function inspect(run: Inspection, node: Node, schema: unknown, path: Path): void {
  if (node.source !== null) {
    if (typeof node.value === "string") inspectText(run, node, node.value, path, schema !== undefined);
    return;
  }
  const inner = innermost(schema, node);
  if (Array.isArray(node.value)) {
    for (const [index, child] of node.children) inspect(run, child, itemOf(inner), [...path, index]);
    return;
  }
  for (const [key, child] of node.children) inspectEntry(run, key, child, inner, [...path, key]);
}

function inspectEntry(run: Inspection, key: string, child: Node, mapping: unknown, path: Path): void {
  const shape = mapping instanceof z.ZodObject ? mapping.shape : {};
  const isKnown = Object.hasOwn(shape, key);
  if (!isKnown && isSecretKey(key)) {
    run.spent.add(child);
    reportSecret(run, path, child.keyOffset, key);
    return;
  }
  if (mapping instanceof z.ZodObject && !isKnown && !key.startsWith("x-")) {
    const message = () => describeUnknown(key, Object.keys(shape), run.rules.hints);
    run.mistakes.push({ id: "unknown_key", severity: "error", path, offset: child.keyOffset, message });
  }
  if (mapping instanceof z.ZodRecord && key === "__proto__") {
    // zod leaves it out.
    const message = "__proto__ cannot be a name here";
    run.mistakes.push({ id: "not_allowed", severity: "error", path, offset: child.keyOffset, message });
  }
  const free = mapping instanceof z.ZodRecord ? mapping.valueType : undefined;
  inspect(run, child, isKnown ? shape[key] : free, path);
}

function inspectText(run: Inspection, node: Node, text: string, path: Path, isRead: boolean): void {
  if (isSecretValue(text)) {
    run.spent.add(node);
    reportSecret(run, path, node.offset, String(path.at(-1) ?? "the value"));
  } else if (isRead && isPlaceholder(text)) {
    run.spent.add(node);
    const message = () => `replace the placeholder ${shown(text)}`;
    run.mistakes.push({ id: "placeholder", severity: run.placeholders, path, offset: node.offset, message });
  }
}

function reportSecret({ mistakes, rules }: Inspection, path: Path, offset: number, name: string): void {
  const { subject, secretAdvice } = rules;
  const message = () => `${shown(name)} looks like a secret; a ${subject} must not carry one${secretAdvice}`;
  mistakes.push({ id: `secret_in_${subject}`, severity: "error", path, offset, message });
}

function describeUnknown(key: string, known: readonly string[], hints: ReadonlyMap<string, string>): string {
  const near = nearest(key, known);
  const hint = hints.get(key) ?? (near === undefined ? undefined : `did you mean ${near}?`);
  return `unknown key ${shown(key)}; ${hint ?? `known here: ${known.join(", ")}`}`;
}

/** The schema without what wraps it; of a union, the part for lists or that for mappings. */
function innermost(schema: unknown, node: Node): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return innermost(schema.unwrap(), node);
  if (schema instanceof z.ZodPipe) return innermost(schema.in, node);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const options = schema.options.map((option) => innermost(option, node));
  return options.find((option) =>
    Array.isArray(node.value) ? itemOf(option) !== undefined : option instanceof z.ZodObject,
  );
}

/** The schema of the items of a list; all items of our tuples are alike. */
function itemOf(schema: unknown): unknown {
  if (schema instanceof z.ZodArray) return schema.element;
  return schema instanceof z.ZodTuple ? schema.def.items[0] : undefined;
}

interface Found {
  readonly document: Document;
  readonly spent: ReadonlySet<Node>;
}

type Issue = z.core.$ZodIssue;

function mistakesOf(issue: Issue, base: Path, found: Found): readonly Mistake[] {
  const { document, spent } = found;
  const path = [...base, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  const node = document.node(path);
  if (node !== undefined && spent.has(node)) return [];
  const report = (id: string, message: Mistake["message"]): readonly Mistake[] => [
    { id, severity: "error", path, offset: document.offset(path), message },
  ];
  if (issue.code === "custom") return [refusedAt(issue, path, document)];
  if (node === undefined) return report("missing", `${path.at(-1)} is required`);
  switch (issue.code) {
    case "invalid_type": {
      if (isNumeric(issue.expected) && typeof node.value === "number") {
        const [id, message] = describeNumber(node, issue.message);
        return report(id, message);
      }
      return report("wrong_type", describeType(issue.expected, node));
    }
    case "invalid_value": {
      const expected = typeof issue.values[0];
      if (typeof node.value !== expected) return report("wrong_type", describeType(expected, node));
      return report("not_allowed", () => describeChoice(String(node.value), issue.values.map(String)));
    }
    case "invalid_union": {
      const branch = issue.errors.find((issues) => !issues.some((each) => isOfOtherType(each, node)));
      return (
        branch?.flatMap((each) => mistakesOf(each, path, found)) ??
        report("wrong_type", describeType(issue.message, node))
      );
    }
    case "too_small":
    case "too_big":
      if (Array.isArray(node.value)) {
        return report("list_length", `expected ${issue.message} items, found ${node.value.length}`);
      }
      // zod also measures a text where a list belongs, and has a bound of its own for whole numbers.
      if (typeof node.value !== "number" || issue.message === "") return [];
      return report("out_of_range", `${shown(node.source ?? "")} is outside the range: ${issue.message}`);
    default:
      return report("not_allowed", issue.message);
  }
}

/** What a check of our own found. */
function refusedAt(issue: z.core.$ZodIssueCustom, path: Path, document: Document): Mistake {
  const { id, isKey, first, depth } = refusalParameters.parse(issue.params);
  const offset = (isKey ? document.node(path)?.keyOffset : undefined) ?? document.offset(path);
  if (first === undefined) return { id, severity: "error", path, offset, message: issue.message };
  const before = document.offset([...path.slice(0, path.length - depth), ...first]);
  const message = `${issue.message} at line ${document.position(before).line}`;
  return { id, severity: "error", path, offset, message };
}

function isNumeric(expected: string): boolean {
  return expected === "number" || expected === "int";
}

/** Whether an option of a union is for values of another type. */
function isOfOtherType(issue: Issue, { value }: Node): boolean {
  if (issue.code !== "invalid_type" || issue.path.length > 0) return false;
  return !(isNumeric(issue.expected) && typeof value === "number");
}

/** A number with a fraction where none may be, an infinite one, or one in another notation than that of JSON. */
function describeNumber({ source, value }: Node, endless: string): readonly [id: string, message: string] {
  const written = shown(source ?? "");
  if (Number.isFinite(value)) return ["wrong_type", "expected a whole number, found a number with a fraction"];
  // A number in JSON syntax may still be too large.
  if (!Number.isNaN(value) || /inf|nan/i.test(written)) {
    return ["not_finite", `${written} is not a finite number${endless}`];
  }
  return ["number_format", `write ${written} as a plain decimal number`];
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["number", "a number"],
  ["int", "a number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "a mapping"],
  ["record", "a mapping"],
]);

/** @param expected a type of zod, or words. */
function describeType(expected: string, { value, source }: Node): string {
  const found = source === null ? typeName(value) : scalarName(value, source);
  return `expected ${TYPES.get(expected) ?? expected}, found ${found}${quoting(expected, value)}`;
}

function quoting(expected: string, value: unknown): string {
  if (expected === "string")
    return typeof value === "number" || typeof value === "boolean" ? "; write it in quotes" : "";
  const isQuoted =
    isNumeric(expected) && typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value));
  return isQuoted ? "; write it without quotes" : "";
}

function typeName(value: unknown): string {
  return Array.isArray(value) ? "a list" : "a mapping";
}

function scalarName(value: unknown, source: string): string {
  if (value === null) return source === "" ? "nothing" : "null";
  return TYPES.get(typeof value) ?? "a value";
}

function describeChoice(written: string, values: readonly string[]): string {
  const near = nearest(written, values);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return `${shown(written)} is not one of ${values.join(", ")}${hint}`;
}
