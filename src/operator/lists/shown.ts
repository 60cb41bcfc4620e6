/** Renders what src/views says for a terminal. */
import type { Terminal } from "../../platform/terminal.ts";
import { shellWord } from "../../platform/text/shell-word.ts";
import {
  type Column,
  countsText,
  csvLines,
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
import { compareNames, DOCUMENT_REMEDY, type Fact as TextFact, type ListView, noteHidden } from "./show-list.ts";

/** Enough to distinguish two digests. */
const DIGEST_SHOWN = "sha256:".length + 12;

export function shortDigest(digest: string): string {
  return digest.slice(0, DIGEST_SHOWN);
}

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
 * The table of a list, and its CSV.
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
  const names = columns.map(({ name }) => name);
  return {
    headers: names,
    usual: usual ?? columns.filter(({ from }) => from !== "asked").map(({ name }) => name),
    prose: columns.filter(({ weight = 1 }) => weight > 1).map(({ name }) => name),
    spare: [...namesFrom("medium"), ...namesFrom("wide"), ...namesFrom("terminal")],
    row: (item, now) => columns.map(({ show }) => shownText(show(item), now, { isInList: true, terminal })),
    csv: (items, named) =>
      csvLines(named.length === 0 ? columns : named.flatMap((name) => columns[names.indexOf(name)] ?? []), items),
    empty: `${empty}.`,
  };
}

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
  const { headers, prose, spare, row } = tableOf({ columns, empty: "" }, undefined, terminal);
  const rows = items.map((item) => row(item, now));
  noteHidden(terminal.table(headers, rows, prose, spare), DOCUMENT_REMEDY, terminal);
}

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
