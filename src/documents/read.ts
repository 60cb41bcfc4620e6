/**
 * Holds a document to a zod schema: a value, or everything that is wrong, each at its position.
 *
 * The schema says what is allowed; its own message (`error`) ends the sentence of a finding. This file words what zod found, and reports
 * what a schema cannot see: unknown keys, and texts that look like a credential or a placeholder (SPEC sections 5 and 6).
 * Mappings are `z.object`, not `z.strictObject`, because every mapping may have keys that begin with `x-`.
 */
import * as z from "zod";

import { type Finding, FindingList, type Mistake, type Path, placed, type Position } from "./findings.ts";
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
  const findings = new FindingList(document.offset);
  const value = holdTo(schema, document, rules, findings);
  if (value !== undefined) findSecret(document, rules, findings);
  const isRefused = value === undefined || findings.hasError;
  for (const { id, path, message } of isRefused ? [] : doubts(value)) findings.warning(id, path, message);
  return {
    findings: placed(findings.mistakes, document.position),
    value: isRefused ? null : value,
    locate: document.locate,
  };
}

/** The reading of a file that could not be opened as a document. */
export function refusedReading(findings: readonly Finding[]): SettingsReading<never> {
  return { findings, value: null, locate: () => ({ line: 1, column: 1 }) };
}

/** A key in a comment is as readable as one in a value. */
function findSecret({ text }: Document, { subject, secretAdvice }: ReadingRules, findings: FindingList): void {
  const offset = secretOffset(text);
  if (offset === undefined) return;
  const message = `this looks like a secret; a ${subject} must not carry one${secretAdvice}`;
  findings.error(`secret_in_${subject}`, [], message, offset);
}

/**
 * @param placeholders how bad a placeholder is: a draft may hold them.
 * @returns undefined when something is wrong, or a placeholder is left.
 */
export function holdTo<T>(
  schema: z.ZodType<T>,
  document: Document,
  rules: ReadingRules,
  findings: FindingList,
  placeholders: Finding["severity"] = "error",
): T | undefined {
  const { root } = document;
  const before = findings.mistakes.length;
  // Messages are empty unless the schema has its own.
  const { data, error } = schema.safeParse(root.value, { error: () => "", jitless: true });
  const run: Inspection = { document, rules, placeholders, findings, spent: new Set() };
  inspect(run, root, schema, []);
  for (const issue of error?.issues ?? []) reportIssue(run, issue, []);
  return findings.mistakes.length === before ? data : undefined;
}

interface Inspection {
  readonly document: Document;
  readonly rules: ReadingRules;
  readonly placeholders: Finding["severity"];
  readonly findings: FindingList;
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
    run.findings.error("unknown_key", path, message, child.keyOffset);
  }
  if (mapping instanceof z.ZodRecord && key === "__proto__") {
    // zod leaves it out.
    run.findings.error("not_allowed", path, "__proto__ cannot be a name here", child.keyOffset);
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
    run.findings[run.placeholders]("placeholder", path, message, node.offset);
  }
}

function reportSecret({ findings, rules }: Inspection, path: Path, offset: number, name: string): void {
  const { subject, secretAdvice } = rules;
  const message = () => `${shown(name)} looks like a secret; a ${subject} must not carry one${secretAdvice}`;
  findings.error(`secret_in_${subject}`, path, message, offset);
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

type Issue = z.core.$ZodIssue;

/** @param base of the issue's path. */
function reportIssue(run: Inspection, issue: Issue, base: Path): void {
  const { document, findings, spent } = run;
  const path = [...base, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  const node = document.node(path);
  if (node !== undefined && spent.has(node)) return;
  if (issue.code === "custom") {
    const { id, isKey } = refusalParameters.parse(issue.params);
    findings.error(id, path, issue.message, isKey ? node?.keyOffset : undefined);
    return;
  }
  if (node === undefined) {
    findings.error("missing", path, `${path.at(-1)} is required`);
    return;
  }
  const branch = issue.code === "invalid_union" ? branchFor(issue, node) : undefined;
  for (const each of branch ?? []) reportIssue(run, each, path);
  const described = branch === undefined ? describeIssue(issue, node) : null;
  if (described !== null) findings.error(described.id, path, described.message);
}

/** The issues with the option of a union that is for values of this type. */
function branchFor({ errors }: z.core.$ZodIssueInvalidUnion, { value }: Node): readonly Issue[] | undefined {
  const isOfOtherType = ({ path, ...issue }: Issue) =>
    issue.code === "invalid_type" && path.length === 0 && !(isNumeric(issue.expected) && typeof value === "number");
  return errors.find((issues) => !issues.some(isOfOtherType));
}

/** Null for what another issue reports. */
function describeIssue(issue: Issue, node: Node): Pick<Mistake, "id" | "message"> | null {
  const { value, source } = node;
  switch (issue.code) {
    case "invalid_type":
      if (isNumeric(issue.expected) && typeof value === "number") return describeNumber(node, issue.message);
      return { id: "wrong_type", message: describeType(issue.expected, node) };
    case "invalid_value": {
      const expected = typeof issue.values[0];
      if (typeof value !== expected) return { id: "wrong_type", message: describeType(expected, node) };
      return { id: "not_allowed", message: () => describeChoice(String(value), issue.values.map(String)) };
    }
    case "invalid_union":
      return { id: "wrong_type", message: describeType(issue.message, node) };
    case "too_small":
    case "too_big":
      if (Array.isArray(value)) {
        return { id: "list_length", message: `expected ${issue.message} items, found ${value.length}` };
      }
      // zod also measures a text where a list belongs, and has a bound of its own for whole numbers.
      if (typeof value !== "number" || issue.message === "") return null;
      return { id: "out_of_range", message: `${shown(source ?? "")} is outside the range: ${issue.message}` };
    default:
      return { id: "not_allowed", message: issue.message };
  }
}

function isNumeric(expected: string): boolean {
  return expected === "number" || expected === "int";
}

/** A number with a fraction where none may be, an infinite one, or one in another notation than that of JSON. */
function describeNumber({ source, value }: Node, endless: string): Pick<Mistake, "id" | "message"> {
  const written = shown(source ?? "");
  if (Number.isFinite(value)) {
    return { id: "wrong_type", message: "expected a whole number, found a number with a fraction" };
  }
  // A number in JSON syntax may still be too large.
  if (!Number.isNaN(value) || /inf|nan/i.test(written)) {
    return { id: "not_finite", message: `${written} is not a finite number${endless}` };
  }
  return { id: "number_format", message: `write ${written} as a plain decimal number` };
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
  const isNumber = typeof value === "number";
  const isQuoted = typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value));
  let hint = "";
  if (expected === "string" && (isNumber || typeof value === "boolean")) hint = "; write it in quotes";
  if (isNumeric(expected) && isQuoted) hint = "; write it without quotes";
  return `expected ${TYPES.get(expected) ?? expected}, found ${foundType(value, source)}${hint}`;
}

function foundType(value: unknown, source: string | null): string {
  if (source === "" && value === null) return "nothing";
  if (value === null) return "null";
  return TYPES.get(Array.isArray(value) ? "array" : typeof value) ?? "a value";
}

function describeChoice(written: string, values: readonly string[]): string {
  const near = nearest(written, values);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  return `${shown(written)} is not one of ${values.join(", ")}${hint}`;
}
