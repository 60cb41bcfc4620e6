/** Renders what src/views says for a terminal. */
import type * as z from "zod";

import type { Terminal } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import {
  type Column,
  counted,
  countsText,
  type Fact,
  inWords,
  type OwnNeed,
  plainText,
  type Shown,
  sortKeyOf,
  type Tone,
  toneOf,
  type View,
} from "../../views/view.ts";
import { type Now, timeAgo, timeUntil, withRelativeTimes } from "../times.ts";

/** Enough to distinguish two digests. */
const DIGEST_SHOWN = "sha256:".length + 12;

export function shortDigest(digest: string): string {
  return digest.slice(0, DIGEST_SHOWN);
}

interface ShownOptions {
  /** In a list a state has no reason, and a digest its beginning only. */
  readonly isInList?: boolean;
  /** Without a terminal there are no colours. */
  readonly terminal?: Terminal | undefined;
}

/** A value as text; "" for nothing. */
export function shownText(shown: Shown, now: Now, { isInList = false, terminal }: ShownOptions = {}): string {
  if (shown === null || typeof shown !== "object") return plainText(shown);
  switch (shown.kind) {
    case "past":
      return timeAgo(shown.at, now);
    case "future":
      return timeUntil(shown.at, now);
    case "digest":
      return isInList ? shortDigest(shown.text) : shown.text;
    case "labels":
    case "exact":
    case "links":
      return plainText(shown);
    case "state": {
      const { state, since = null, reason = null, tone = toneOf(state) } = shown;
      const word = terminal === undefined ? inWords(state) : toned(inWords(state), tone, terminal);
      if (reason !== null && !isInList) return `${word}: ${reason}`;
      return since === null ? word : `${word}, ${timeAgo(since, now)}`;
    }
    case "sentence":
      return withRelativeTimes(shown.text, now);
    case "counts":
      return isInList ? plainText(shown) : countsText(shown);
  }
}

/** The colours of tones. */
const STYLES = {
  ready: "good",
  active: "good",
  preparing: "warn",
  waiting: "dim",
  degraded: "warn",
  blocked: "bad",
} as const satisfies Readonly<Record<Tone, Parameters<Terminal["style"]>[0]>>;

export function toned(text: string, tone: Tone, terminal: Terminal): string {
  return terminal.style(STYLES[tone], text);
}

/** How a list is shown. */
export interface ListView<Item> {
  readonly columns: readonly Column<Item>[];
  /** The names of those that are shown unless `--columns` names others. */
  readonly usual: readonly string[];
  /** Those of `--csv`, in place of all. */
  readonly csvColumns?: readonly Column<Item>[];
  /** Printed for an empty list. */
  readonly empty: string;
  /** Of an item whose members the service document leaves open: those that it does not know become further columns. */
  readonly schema?: z.ZodType;
  /** Prints a column's content below the table where the terminal is too narrow for the column. */
  readonly below?: { readonly column: string; show(items: readonly Item[], now: Now): void };
}

/** @param usual the names of the columns to show unless `--columns` names others; all without "asked" by default. */
export function tableOf<Item>(
  { columns, empty }: Pick<View<Item>, "columns" | "empty">,
  usual = columns.filter(({ from }) => from !== "asked").map(({ name }) => name),
): ListView<Item> {
  return { columns, usual, empty: `${empty}.` };
}

/** A line of `show`, rendered. */
export type TextFact = readonly [name: string, value: string];

export function factTexts(facts: readonly Fact[], now: Now, terminal?: Terminal): readonly TextFact[] {
  return facts.map(([name, value]) => [name, shownText(value, now, { terminal })]);
}

/** Needs as facts, the reason first, each with what to do. @param name of what needs it. */
export function needTexts(needs: readonly OwnNeed[], name: string, now: Now): readonly TextFact[] {
  return needs.flatMap(({ reason, since = null, detail = "", action, command }, index): readonly TextFact[] => [
    [index === 0 ? "needs" : "", since === null ? reason : `${reason}, since ${timeAgo(since, now)}`],
    ["", detail],
    ["", action === "" ? "" : `→ ${action}${command === undefined ? "" : `: ${command(shellWord(name))}`}`],
  ]);
}

/** A table inside other output. */
export function showColumns<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  terminal: Terminal,
  now: Now,
): void {
  noteHidden(printColumns(columns, items, terminal, now), DOCUMENT_REMEDY, terminal);
}

/**
 * Prints a table.
 *
 * @param isWhole hides no column on a narrow terminal, and shows a dash in empty cells: scripts rely on the number of columns.
 * @returns the names of the columns that the terminal has no room for.
 */
export function printColumns<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  terminal: Terminal,
  now: Now,
  isWhole = false,
): readonly string[] {
  const namesOf = (shown: readonly Column<Item>[]) => shown.map(({ name }) => name);
  const rows = items.map((item) =>
    columns.map(({ show }) => shownText(show(item), now, { isInList: true, terminal }) || (isWhole ? "-" : "")),
  );
  const spare = (["medium", "wide", "terminal"] as const).flatMap((screen) =>
    columns.filter(({ from }) => from === screen),
  );
  const prose = columns.filter(({ weight = 1 }) => weight > 1);
  return terminal.table(namesOf(columns), rows, namesOf(prose), isWhole ? [] : namesOf(spare));
}

/** Names the columns that a narrow terminal leaves out, if any. */
export function noteHidden(hidden: readonly string[], remedy: string, terminal: Terminal): void {
  if (hidden.length === 0) return;
  terminal.note(`${counted(hidden.length, "column")} hidden: ${hidden.join(", ")}; ${remedy}`);
}

/** For a table inside other output. */
export const DOCUMENT_REMEDY = "a wider terminal or --json shows them";

/** In the order of a column: names as people order them, the latest time first, nothing last. */
export function inOrderOf<Item>({ columns }: Pick<View<Item>, "columns">, name: string | undefined) {
  const column = columns.find((each) => each.name === name);
  const sign = column?.first === "down" ? -1 : 1;
  return (left: Item, right: Item): number => {
    if (column === undefined) return 0;
    const [first, second] = [sortKeyOf(column, left), sortKeyOf(column, right)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    if (typeof first === "number" && typeof second === "number") return sign * (first - second);
    return sign * compareNames(String(first), String(second));
  };
}

let collator: Intl.Collator | undefined;

/** `arm-9` before `arm-10`. The collator is made at the first use: that takes 30 ms, and most commands compare no names. */
export function compareNames(left: string, right: string): number {
  collator ??= new Intl.Collator("en", { numeric: true });
  return collator.compare(left, right);
}
