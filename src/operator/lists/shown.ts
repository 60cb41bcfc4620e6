/** Renders what src/views says for a terminal. */
import { type Column, csvLines, type Fact, type Shown, type View } from "../../views/view.ts";
import { shortDigest, labelsText } from "../robots/words.ts";
import { type Now, timeAgo, timeUntil } from "../times.ts";
import type { ListView } from "./show-list.ts";

/** A value as text; "" for nothing. In a list a state has no reason, and a digest its beginning only. */
export function shownText(shown: Shown, now: Now, { isInList = false } = {}): string {
  if (shown === null) return "";
  if (typeof shown !== "object") return String(shown);
  switch (shown.kind) {
    case "past":
      return timeAgo(shown.at, now);
    case "future":
      return timeUntil(shown.at, now);
    case "digest":
      return isInList ? shortDigest(shown.digest) : shown.digest;
    case "labels":
      return labelsText(shown);
    case "state": {
      const { state, since = null, reason = null } = shown;
      const word = state.replaceAll("_", " ");
      if (reason !== null && !isInList) return `${word}: ${reason}`;
      return since === null ? word : `${word}, ${timeAgo(since, now)}`;
    }
  }
}

/**
 * The table of a list, and its CSV.
 *
 * @param usual the names of the columns to show unless `--columns` names others; all without "asked" by default.
 */
export function tableOf<Item>({ columns, empty }: Pick<View<Item>, "columns" | "empty">, usual?: readonly string[]) {
  const namesFrom = (screen: Column<Item>["from"]) =>
    columns.filter(({ from }) => from === screen).map(({ name }) => name);
  const names = columns.map(({ name }) => name);
  const view: ListView<Item> = {
    headers: names,
    usual: usual ?? columns.filter(({ from }) => from !== "asked").map(({ name }) => name),
    prose: columns.filter(({ weight = 1 }) => weight > 1).map(({ name }) => name),
    spare: [...namesFrom("medium"), ...namesFrom("wide"), ...namesFrom("terminal")],
    row: (item, now) => columns.map(({ show }) => shownText(show(item), now, { isInList: true })),
    csv: (items, named) =>
      csvLines(named.length === 0 ? columns : named.flatMap((name) => columns[names.indexOf(name)] ?? []), items),
    empty: `${empty}.`,
  };
  return view;
}

export function factTexts(facts: readonly Fact[], now: Now): readonly (readonly [name: string, value: string])[] {
  return facts.map(([name, value]) => [name, shownText(value, now)]);
}
