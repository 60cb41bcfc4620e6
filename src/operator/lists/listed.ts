import { isDeepStrictEqual } from "node:util";

import type { CallResult } from "../../client/call-result.ts";
import {
  type Answered,
  ITEMS_PER_REQUEST,
  type OperationInput,
  type OperationOf,
  type PageQuery,
} from "../../client/operation-client.ts";
import { isObject } from "../../platform/is-object.ts";

/** A whole list: parsed items, and the service's answer unchanged. */
export interface Listed<Item> {
  readonly records: readonly ListedRecord<Item>[];
  /** The answer without its items, with all pages joined; null where the answer is a bare array. */
  readonly around: Readonly<Record<string, unknown>> | null;
  /** The member of `around` that holds the items. */
  readonly member: string;
}

type ListedRecord<Item> = Pick<Answered<Item>, "value" | "document">;

type Call = <T>(row: OperationOf<T>, input: OperationInput) => Promise<CallResult<Answered<T>>>;

/** Requests for one list, with up to a thousand items each. */
const PAGES_LIMIT = 1000;

export interface ListOptions<T> {
  readonly query?: OperationInput["query"];
  /** Whether the page with this value is the last one that is needed. */
  readonly isLast?: (value: T) => boolean;
}

/** Fetches a whole list, page by page where the service has pages. */
export async function listAll<T, Item>(
  call: Call,
  row: OperationOf<T>,
  itemsOf: (value: T) => readonly Item[],
  { query: filter = {}, isLast }: ListOptions<T> = {},
): Promise<CallResult<Listed<Item>>> {
  const records: ListedRecord<Item>[] = [];
  let place: PageQuery = {};
  let shape: Pick<TakenApart, "around" | "member"> | null = null;
  for (let page = 0; page < PAGES_LIMIT; page += 1) {
    const query: OperationInput["query"] = { ...filter, limit: ITEMS_PER_REQUEST, ...place };
    const result: CallResult<Answered<T>> = await call(row, { query });
    if (result.kind !== "ok") return result;
    const { value, document, next }: Answered<T> = result.value;
    const items = itemsOf(value);
    const { documents, ...rest } = takeApart(document, value, items);
    shape ??= rest;
    for (const [index, item] of items.entries()) records.push({ value: item, document: documents[index] });
    if (next === null || isLast?.(value) === true) return { ...result, value: { records, ...shape } };
    if (isDeepStrictEqual(next, place)) return endless("a page of the list names itself as the next one");
    place = next;
  }
  return endless(`the list has more than ${PAGES_LIMIT} pages`);
}

function endless(detail: string): CallResult<never> {
  return { kind: "undecodable", status: 200, detail, isJson: true };
}

export function itemsIn<Item>({ records }: Listed<Item>): readonly Item[] {
  return records.map(({ value }) => value);
}

export function keepListed<Item>(listed: Listed<Item>, keep: (item: Item) => boolean): Listed<Item> {
  return { ...listed, records: listed.records.filter(({ value }) => keep(value)) };
}

export function mapListed<Item, Other>(listed: Listed<Item>, change: (item: Item) => Other): Listed<Other> {
  return { ...listed, records: listed.records.map(({ value, document }) => ({ value: change(value), document })) };
}

/** The service's answer, for `--json`. */
export function documentOf({ records, around, member }: Listed<unknown>): unknown {
  const documents = records.map(({ document }) => document);
  return around === null ? documents : { ...around, [member]: documents };
}

interface TakenApart extends Pick<Listed<unknown>, "around" | "member"> {
  readonly documents: readonly unknown[];
}

/** A list is an array, or an object with an array (`{ "items": […] }`): the member whose parsed value the items are. */
function takeApart(document: unknown, value: unknown, items: unknown): TakenApart {
  if (isList(document)) return { documents: document, around: null, member: "" };
  const member = Object.entries(value ?? {}).find(([, each]) => each === items)?.[0] ?? "items";
  const around: Readonly<Record<string, unknown>> = isObject(document) ? { ...document } : {};
  const documents = around[member];
  return { documents: isList(documents) ? documents : [], around, member };
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
