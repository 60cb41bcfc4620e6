/** What differs between two versions of a text: by key path in JSON and YAML, by line in others. */
import { diffLines } from "diff";
import { parseDocument } from "yaml";

import { parseJson } from "../platform/text/parse-json.ts";
import { calibrationOf, type Meaning, meaningOfStep } from "./calibration.ts";

export interface TextDifference {
  readonly details: readonly string[];
  /** Number of further differences. */
  readonly omitted: number;
}

/** Differences that are said one by one. */
const DETAILS_MAXIMUM = 50;
/** Characters of a detail. */
const DETAIL_LENGTH = 200;
/** Larger texts are compared by line: reading them would hold up the service's loop. Calibrations and settings of drivers have a few KB. */
const JSON_LIMIT = 48 * 1024;
const YAML_LIMIT = 8 * 1024;
/** The deepest level of a key path. */
const DEPTH_MAXIMUM = 32;
/** Lines that may differ; beyond that, texts are not compared. */
const EDITS_MAXIMUM = 400;

export function diffTexts(before: string, after: string): TextDifference {
  const [old, now] = [structureOf(before), structureOf(after)];
  if (old === null || now === null) return diffByLine(before, after);
  const [former, current] = [calibrationOf(old), calibrationOf(now)];
  const areCalibrations = former !== null && current !== null;
  const differences = limited(
    areCalibrations ? diffValues(former, current, meaningOfStep) : diffValues(old, now, NO_MEANING),
  );
  // The same values, written in another way.
  return differences.details.length === 0 ? diffByLine(before, after) : differences;
}

/** The lines of two devices: canonical JSON. */
export function diffDeviceLines(before: string, after: string): TextDifference {
  const [old, now] = [parseJson(before), parseJson(after)];
  if (!isCollection(old) || !isCollection(now)) return { details: [], omitted: 0 };
  return limited(diffValues(old, now, NO_MEANING));
}

const NO_MEANING: Meaning = () => null;

/** The lists and mappings of a text in JSON or YAML; null for other texts. */
function structureOf(text: string): object | null {
  const json = text.length > JSON_LIMIT ? undefined : parseJson(text);
  if (isCollection(json)) return json;
  if (text.length > YAML_LIMIT) return null;
  try {
    const document = parseDocument(text, { logLevel: "silent", uniqueKeys: false });
    // Aliases that stand for each other could grow without bound.
    const value: unknown = document.errors.length > 0 ? null : document.toJS({ maxAliasCount: 10 });
    return isCollection(value) ? value : null;
  } catch {
    // Nested too deeply for a recursive parser.
    return null;
  }
}

function isCollection(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A sentence for each difference. @param path keys and indexes from the root. */
function* diffValues(
  before: unknown,
  after: unknown,
  meaning: Meaning,
  path: readonly string[] = [],
): Iterable<string> {
  if (Object.is(before, after)) return;
  const isNested = isCollection(before) && isCollection(after) && Array.isArray(before) === Array.isArray(after);
  if (isNested && path.length < DEPTH_MAXIMUM) {
    const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
    for (const key of new Set([...old.keys(), ...now.keys()])) {
      const here = [...path, key];
      if (!now.has(key)) yield `${pathText(here)} is gone; it was ${shownValue(old.get(key))}`;
      else if (old.has(key)) yield* diffValues(old.get(key), now.get(key), meaning, here);
      else yield `${pathText(here)} is new: ${shownValue(now.get(key))}`;
    }
  } else if (!isNested || JSON.stringify(before) !== JSON.stringify(after)) {
    const change = changeText(before, after, meaning(path, before, after));
    yield `${pathText(path)} ${shownValue(before)} → ${shownValue(after)}${change}`;
  }
}

/** ` (+194, 17.1°)`: by how much a number changed, and what that means where the format is known. */
function changeText(before: unknown, after: unknown, meaning: string | null): string {
  if (typeof before !== "number" || typeof after !== "number") return "";
  const difference = Number((after - before).toPrecision(12));
  if (!Number.isFinite(difference)) return "";
  const amount = difference > 0 ? `+${difference}` : String(difference).replace("-", "−");
  return meaning === null ? ` (${amount})` : ` (${amount}, ${meaning})`;
}

/** `arm.limits[2].max` */
function pathText(path: readonly string[]): string {
  const text = path.map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`)).join("");
  return text.startsWith(".") ? text.slice(1) : text || "the value";
}

function shownValue(value: unknown): string {
  const text = typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? String(value));
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}

function diffByLine(before: string, after: string): TextDifference {
  const changes = diffLines(before, after, { maxEditLength: EDITS_MAXIMUM });
  if (changes === undefined) return { details: [`more than ${EDITS_MAXIMUM} lines differ`], omitted: 0 };
  return limited(linesOf(changes));
}

/** `line 12: - old text`, `line 12: + new text`; the lines of the text after, from 1. */
function* linesOf(changes: ReturnType<typeof diffLines>): Iterable<string> {
  let line = 1;
  for (const { added, removed, value, count } of changes) {
    const sign = added ? "+" : "−";
    if (added || removed) {
      const texts = value.replace(/\n$/, "").split("\n");
      for (const [index, text] of texts.entries()) yield `line ${line + (added ? index : 0)}: ${sign} ${text}`;
    }
    if (!removed) line += count;
  }
}

function limited(differences: Iterable<string>): TextDifference {
  const details: string[] = [];
  let omitted = 0;
  for (const text of differences) {
    if (details.length < DETAILS_MAXIMUM)
      details.push(text.length <= DETAIL_LENGTH ? text : `${text.slice(0, DETAIL_LENGTH - 1)}…`);
    else omitted += 1;
  }
  return { details, omitted };
}
