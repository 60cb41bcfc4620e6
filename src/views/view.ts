/**
 * What operators see of each resource, said once for the terminal and the browser: columns, filters, facts, states, needs and consequences.
 * This file has the kinds of values; each front end renders every kind in its own way (operator/lists/shown.ts, console/browser/parts/
 * shown.tsx). Pure: no terminal, no document, no clock.
 */

/** A value to show. Texts may hold anything that a client sent: the front ends make them harmless. Null and "" are nothing. */
export type Shown = string | number | null | Time | State | Digest | Labels | Exact | Sentence | Reference | Counts;

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

/** A digest: `sha256:` and 64 hexadecimal digits. */
export interface Digest {
  readonly kind: "digest";
  readonly digest: string;
}

export interface Labels {
  readonly kind: "labels";
  readonly labels: Readonly<Record<string, string>>;
}

/** A sentence of the service, which may hold times in ISO 8601. */
export interface Sentence {
  readonly kind: "sentence";
  readonly text: string;
}

/** A text that is copied as it is: an id, a URL. */
export interface Exact {
  readonly kind: "exact";
  readonly text: string;
}

/** Another resource, by its name. */
export interface Reference {
  readonly kind: "reference";
  readonly to: "robot" | "model";
  readonly name: string;
  /** That, or what it stands for: of a model the checkpoint; "" for none. */
  readonly id: string;
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

export function exact(text: Text): Exact | null {
  return text === null || text === undefined ? null : { kind: "exact", text };
}

/** Null for neither name nor id. */
export function reference(to: Reference["to"], name: Text, id: Text): Reference | null {
  const known = name ?? id ?? "";
  return known === "" ? null : { kind: "reference", to, name: known, id: id ?? "" };
}

export function digest(value: Text): Digest | null {
  return value === null || value === undefined ? null : { kind: "digest", digest: value };
}

export interface Column<Item> {
  /** In lower case: the header in the terminal, and the name for `--columns` and for `?sort=`. */
  readonly name: string;
  readonly show: (item: Item) => Shown;
  /** What the list is sorted by in place of the shown value; null comes last. */
  readonly sortKey?: (item: Item) => string | number | null;
  /** The smallest screen that shows it; "asked": only where it is asked for by name. By default all. */
  readonly from?: "medium" | "wide" | "asked";
  /** How much room a text gets beside the others; 1 by default. */
  readonly weight?: number;
}

/** One way to choose among the items: a flag of `list`, and a drop-down of the page. */
export interface Filter<Item> {
  readonly name: string;
  /** The item's values; it may have several, or none. */
  readonly valuesOf: (item: Item, nowMs: number) => readonly string[];
}

/** `not ready` for `not_ready`. */
export function inWords(name: string): string {
  return name.replaceAll("_", " ");
}

/** A value as plain text, for files, searches and comparisons: times in ISO 8601, digests whole. */
export function plainText(shown: Shown): string {
  if (shown === null) return "";
  if (typeof shown !== "object") return String(shown);
  switch (shown.kind) {
    case "past":
    case "future":
      return shown.at;
    case "state":
      return inWords(shown.state);
    case "digest":
      return shown.digest;
    case "labels":
      return Object.entries(shown.labels)
        .map(([name, value]) => `${name}=${value}`)
        .join(" ");
    case "exact":
    case "sentence":
      return shown.text;
    case "reference":
      return shown.name;
    case "counts":
      return `${shown.ready}/${shown.total}`;
  }
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

/** A resource. */
export interface View<Item> {
  /** "robot" */
  readonly noun: string;
  readonly columns: readonly Column<Item>[];
  readonly filters: readonly Filter<Item>[];
  readonly factsOf: (item: Item) => readonly Fact[];
  /** The heading of an empty list, without a full stop. */
  readonly empty: string;
}

/** Something that an operator has to look after: why, and what to do. */
export interface Need {
  readonly reason: string;
  /** "" where there is nothing to do but wait. */
  readonly action: string;
}
