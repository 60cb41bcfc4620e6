/**
 * What operators see of each resource, said once for the terminal and the browser: columns, filters, facts, states, needs and consequences.
 * This file has the kinds of values; each front end renders every kind in its own way (operator/lists/shown.ts, console/browser/parts/
 * shown.tsx). Pure: no terminal, no document, no clock.
 */
import { csvLine } from "../platform/text/csv.ts";

/**
 * A value to show. Texts may hold anything that a client sent: the front ends make them harmless. Null and "" are nothing; undefined is not
 * known yet.
 */
export type Shown = string | number | null | undefined | Time | State | Labels | FormedText | Links | Counts;

/** A time in ISO 8601: when something happened, or when it ends or begins. */
export interface Time {
  readonly kind: "past" | "future";
  readonly at: string;
}

/** A state in words, such as "offline". */
export interface State {
  readonly kind: "state";
  readonly state: string;
  /** Since when, ISO 8601. */
  readonly since?: string | null;
  /** Why, as a sentence. */
  readonly reason?: string | null;
  /** How urgent it is, where the words alone do not say. */
  readonly tone?: Tone;
}

/** How urgent a state is. */
export type Tone = "ready" | "active" | "preparing" | "waiting" | "degraded" | "blocked";

/** The states of robots and their computers, of fleets, their members and generations, deployments, endpoints and webhooks. */
const TONES: Readonly<Record<string, Tone>> = {
  ready: "ready",
  healthy: "ready",
  online: "ready",
  works: "ready",
  active: "active",
  preparing: "preparing",
  waiting: "waiting",
  retired: "waiting",
  superseded: "waiting",
  unknown: "waiting",
  offline: "degraded",
  not_ready: "degraded",
  not_monitored: "waiting",
  contested: "degraded",
  failing: "degraded",
  frozen: "blocked",
  revoked: "waiting",
  expired: "waiting",
  stuck: "degraded",
  degraded: "degraded",
  blocked: "blocked",
  failed: "blocked",
  unhealthy: "blocked",
};

/** A newer service may send states that this program does not know. */
export function toneOf(state: string): Tone {
  return TONES[state] ?? "waiting";
}

export interface Labels {
  readonly kind: "labels";
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * A text of a form: a digest (`sha256:` and 64 hexadecimal digits); one that people copy, such as an id; or a sentence of the service, which may
 * hold times in ISO 8601.
 */
export interface FormedText {
  readonly kind: "digest" | "exact" | "sentence";
  readonly text: string;
}

/** Things with pages of their own. */
export interface Links {
  readonly kind: "links";
  readonly links: readonly Link[];
}

interface Link {
  readonly text: string;
  /** Of the console. */
  readonly path: string;
}

/** How many of them are in each state. */
export interface Counts {
  readonly kind: "counts";
  readonly noun: string;
  readonly counts: readonly Count[];
  /** How many are as they should be. */
  readonly ready: number;
  readonly total: number;
}

export interface Count {
  readonly word: string;
  readonly count: number;
}

type Text = string | null | undefined;

/** When something happened. */
export function past(at: Text): Time | null {
  return at === null || at === undefined ? null : { kind: "past", at };
}

/** When something ends or begins, or did. */
export function future(at: Text): Time | null {
  return at === null || at === undefined ? null : { kind: "future", at };
}

export function exact(text: Text): FormedText | null {
  return text === null || text === undefined ? null : { kind: "exact", text };
}

export function digest(text: Text): FormedText | null {
  return text === null || text === undefined ? null : { kind: "digest", text };
}

/** A robot or model by its name, with its id, or what it stands for, in brackets. Null for neither. */
export function linkTo(page: "robots" | "models", name: Text, id: Text): Links | null {
  const known = name ?? id ?? "";
  if (known === "") return null;
  const text = (id ?? "") === "" || id === known ? known : `${known} (${id})`;
  // URLs normalize dots away.
  const key = /^\.\.?$/.test(known) ? (id ?? known) : known;
  return { kind: "links", links: [{ text, path: `/${page}/${encodeURIComponent(key)}` }] };
}

/** `cell=4`, as a filter by label has it. */
export function labelTexts(labels: Labels["labels"]): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}=${value}`);
}

/** `not ready` for `not_ready`. */
export function inWords(name: string): string {
  return name.replaceAll("_", " ");
}

/** A value as plain text, for files, searches and comparisons: times in ISO 8601, digests whole. */
export function plainText(shown: Shown): string {
  if (shown === null || shown === undefined) return "";
  if (typeof shown !== "object") return String(shown);
  switch (shown.kind) {
    case "past":
    case "future":
      return shown.at;
    case "state":
      return inWords(shown.state);
    case "labels":
      return labelTexts(shown.labels).join(" ");
    case "digest":
    case "exact":
    case "sentence":
      return shown.text;
    case "counts":
      return `${shown.ready}/${shown.total}`;
    case "links":
      return shown.links.map(({ text }) => text).join(", ");
  }
}

export interface Column<Item> {
  /** In lower case: the header in the terminal, and the name for `--columns` and for `?sort=`. */
  readonly name: string;
  readonly show: (item: Item) => Shown;
  /** What the list is sorted by in place of the shown value; null comes last. */
  readonly sortKey?: (item: Item) => string | number | null;
  /** Of times: the latest comes first. */
  readonly first?: "down";
  /**
   * The smallest screen that shows it; "terminal": only a terminal does, if it has room; "asked": only where it is asked for by name. By
   * default all.
   */
  readonly from?: "medium" | "wide" | "terminal" | "asked";
  /** How much room a text gets beside the others; 1 by default. */
  readonly weight?: number;
}

/** One way to choose among the items: a flag of `list`, and a drop-down of the page. */
export interface Filter<Item> {
  readonly name: string;
  /** The item's values; it may have several, or none. */
  readonly valuesOf: (item: Item, nowMs: number) => readonly string[];
}

/** The value as those of a filter; none if there is none. */
export function present(value: Text): readonly string[] {
  return value === null || value === undefined ? [] : [value];
}

/** Whether an item has a value that is asked for, for each filter that has any. */
export function isWanted<Item>(
  { filters }: Pick<View<Item>, "filters">,
  item: Item,
  asked: Readonly<Record<string, unknown>>,
  nowMs: number,
): boolean {
  return filters.every(({ name, valuesOf }) => {
    const wanted = asked[name];
    return wanted === undefined || valuesOf(item, nowMs).some((value) => value === wanted);
  });
}

/** What a list is sorted by in a column; null comes last. */
export function sortKeyOf<Item>({ show, sortKey }: Column<Item>, item: Item): string | number | null {
  if (sortKey !== undefined) return sortKey(item);
  const shown = show(item);
  return typeof shown === "number" ? shown : plainText(shown) || null;
}

/** Comma-separated values of these columns, with a line of their names. The lines have no end. */
export function csvLines<Item>(columns: readonly Column<Item>[], items: readonly Item[]): readonly string[] {
  const cellOf = (shown: Shown) => (typeof shown === "number" ? shown : plainText(shown));
  const rows = items.map((item) => columns.map(({ show }) => cellOf(show(item))));
  return [columns.map(({ name }) => name), ...rows].map(csvLine);
}

/** `1 robot`, `1,204 robots`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** A whole number with thousands separators. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

/** `3 ready, 1 blocked of 10`. */
export function countsText({ counts, total, noun }: Counts): string {
  if (counts.length === 0) return counted(total, noun);
  return `${counts.map(({ word, count }) => `${count} ${word}`).join(", ")} of ${total}`;
}

/** One line of `show`, and of the page of the resource. Without a value it is left out. */
export type Fact = readonly [name: string, value: Shown];

/** A list. */
export interface Listing<Item> {
  /** "robot" */
  readonly noun: string;
  readonly columns: readonly Column<Item>[];
  readonly filters: readonly Filter<Item>[];
  /** The heading of an empty list, without a full stop. */
  readonly empty: string;
}

/** A resource: its list, and what is shown of one. */
export interface View<Item> extends Listing<Item> {
  readonly factsOf: (item: Item) => readonly Fact[];
}

/** Something that an operator has to look after: why, and what to do, in sentences. */
export interface OwnNeed {
  readonly reason: string;
  /** "" where there is nothing to do but wait. */
  readonly action: string;
  /** Nothing goes on before it is done. */
  readonly isBlocked?: true;
  /** Since when, ISO 8601. */
  readonly since?: string | null;
  readonly detail?: string;
  /** The command that does it to the thing of this name; the console has a button. */
  readonly command?: (name: string) => string;
}
