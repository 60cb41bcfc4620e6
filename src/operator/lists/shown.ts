/** Renders what src/views says for a terminal. */
import type { Terminal } from "../../platform/terminal.ts";
import {
  type Column,
  countsText,
  type Fact,
  inWords,
  plainText,
  type Shown,
  sortKeyOf,
  type Tone,
  toneOf,
  type View,
} from "../../views/view.ts";
import { shortDigest } from "../robots/words.ts";
import { type Now, timeAgo, timeUntil, withRelativeTimes } from "../times.ts";
import { compareNames, DOCUMENT_REMEDY, type ListView, noteHidden } from "./show-list.ts";

interface ShownOptions {
  /** In a list a state has no reason, and a digest its beginning only. */
  readonly isInList?: boolean;
  /** For colours; none without it. */
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
      return isInList ? shortDigest(shown.digest) : shown.digest;
    case "labels":
    case "exact":
      return plainText(shown);
    case "state": {
      const { state, since = null, reason = null, tone = toneOf(state) } = shown;
      const word = terminal === undefined ? inWords(state) : toned(inWords(state), tone, terminal);
      if (reason !== null && !isInList) return `${word}: ${reason}`;
      return since === null ? word : `${word}, ${timeAgo(since, now)}`;
    }
    case "sentence":
      return withRelativeTimes(shown.text, now);
    case "reference":
      return isInList || shown.id === "" || shown.id === shown.name ? shown.name : `${shown.name} (${shown.id})`;
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

/**
 * The table of a list.
 *
 * @param usual the names of the columns to show unless `--columns` names others; all without "asked" by default.
 * @param terminal for colours; none without it.
 */
export function tableOf<Item>(
  { columns, empty }: Pick<View<Item>, "columns" | "empty">,
  usual?: readonly string[],
  terminal?: Terminal,
): ListView<Item> {
  const namesFrom = (screen: Column<Item>["from"]) =>
    columns.filter(({ from }) => from === screen).map(({ name }) => name);
  return {
    headers: columns.map(({ name }) => name),
    usual: usual ?? columns.filter(({ from }) => from !== "asked").map(({ name }) => name),
    prose: columns.filter(({ weight = 1 }) => weight > 1).map(({ name }) => name),
    spare: [...namesFrom("medium"), ...namesFrom("wide")],
    row: (item, now) => columns.map(({ show }) => shownText(show(item), now, { isInList: true, terminal })),
    empty: `${empty}.`,
  };
}

/** A table inside other output. */
export function showColumns<Item>(
  columns: readonly Column<Item>[],
  items: readonly Item[],
  terminal: Terminal,
  now: Now,
): void {
  const { headers, prose, spare, row } = tableOf({ columns, empty: "" }, undefined, terminal);
  const rows = items.map((item) => row(item, now));
  noteHidden(terminal.table(headers, rows, prose, spare), DOCUMENT_REMEDY, terminal);
}

export function factTexts(
  facts: readonly Fact[],
  now: Now,
  terminal?: Terminal,
): readonly (readonly [name: string, value: string])[] {
  return facts.map(([name, value]) => [name, shownText(value, now, { terminal })]);
}

/** In the order of a column: names as people order them, nothing last. */
export function inOrderOf<Item>({ columns }: Pick<View<Item>, "columns">, name: string | undefined) {
  const column = columns.find((each) => each.name === name);
  return (left: Item, right: Item): number => {
    if (column === undefined) return 0;
    const [first, second] = [sortKeyOf(column, left), sortKeyOf(column, right)];
    if (first === null || second === null) return Number(first === null) - Number(second === null);
    if (typeof first === "number" && typeof second === "number") return first - second;
    return compareNames(String(first), String(second));
  };
}
