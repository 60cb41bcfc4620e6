import type { PageQuery } from "../../../api/wire/pages.ts";
import { type Answer, answerJson, type LongAnswer } from "../http/answers.ts";
import type { IdPrefix } from "../ids.ts";
import type { Call, Handler, OperationContext } from "../operation.ts";
import type { Reader } from "../store/store.ts";
import { nextPage, type PageRange, readPage } from "./pages.ts";

/** Rows per query: reading and printing them blocks the event loop for about a millisecond. */
const FETCHED_ROWS = 200;
/** Rows of the first query, which shows how long they are: a robot with the longest labels takes 64 KiB. */
const FIRST_ROWS = 20;
/** Characters after which a page ends, even with fewer items than requested; a longer list is sent in parts, of which this is the first. */
export const PART_CHARACTERS = 1024 * 1024;
/** Characters of each further part: a client that does not read keeps one in memory, as text and as bytes. */
const STREAMED_CHARACTERS = 256 * 1024;

/** What encloses the items when the list is an object. */
export const ITEMS = ['{"items":[', "]}"] as const;

type ListCall = Pick<Call<null, PageQuery>, "query" | "url">;

/** A list of rows that sort by their ids. */
export interface List<Row> {
  /** Prefix of the ids. */
  readonly prefix: IdPrefix;
  /** What encloses the items. */
  readonly around: readonly [before: string, after: string];
  readonly fetchedRows?: number;
  readonly fetch: (range: PageRange) => Promise<readonly Row[]>;
  /** Converts a row to an item of the list. */
  readonly view: (row: Row) => unknown;
}

interface BegunList<Row> extends List<Row> {
  /** What was read so far, so that no more rows are fetched than fit into a part: a long one may be a thousand times a short one. */
  readonly read: { items: number; characters: number };
}

/**
 * The requested page, or the whole list. A long list is sent in parts, each as the store is at that time, so that it takes no more memory
 * than a short one, and other requests run in between.
 */
export async function answerList<Row extends { readonly id: string }>(
  { query, url }: ListCall,
  asked: List<Row>,
): Promise<Answer | LongAnswer> {
  const list = { ...asked, read: { items: 0, characters: 0 } };
  const page = readPage(query, list.prefix);
  if (page.state === "refused") return page.answer;
  const { limit } = query;
  const first = await readPart(list, page.after, limit);
  const [before, after] = list.around;
  if (first.next === null) return answerJson(before + first.items + after);
  if (limit === undefined) {
    const readNext = (next: string) => readPart(list, next, limit, STREAMED_CHARACTERS);
    return { status: 200, parts: listInParts(list.around, [first], readNext) };
  }
  return { ...answerJson(before + first.items + after), headers: nextPage(url, limit, first.next) };
}

/** The handler of an organization's list, `{"items":[…]}`. */
export function listHandler<Row extends { readonly id: string }>(
  prefix: IdPrefix,
  listRows: (reader: Reader, organizationId: string, range: PageRange) => Promise<readonly Row[]>,
  view: List<Row>["view"],
): (context: Pick<OperationContext, "store">) => Handler<null, PageQuery> {
  return ({ store }) =>
    (call) => {
      const { organizationId } = call.principal;
      const fetch = (range: PageRange) => listRows(store.reader, organizationId, range);
      return answerList(call, { prefix, around: ITEMS, fetch, view });
    };
}

interface Part {
  /** JSON items separated by commas. */
  readonly items: string;
  /** Id of the last item if more follow; else null. */
  readonly next: string | null;
}

async function readPart<Row extends { readonly id: string }>(
  { fetchedRows = FETCHED_ROWS, fetch, view, read }: BegunList<Row>,
  from: string | null,
  limit = Number.POSITIVE_INFINITY,
  partCharacters = PART_CHARACTERS,
): Promise<Part> {
  const items: string[] = [];
  for (let after = from, characters = 0; ;) {
    const left = Math.max(0, partCharacters - characters);
    const fitting = read.items === 0 ? FIRST_ROWS : Math.ceil((left * read.items) / read.characters);
    // One row more than the page or the part shows whether more follow.
    const rows = Math.min(fetchedRows, 1 + Math.min(limit - items.length, fitting));
    const fetched = await fetch({ after, rows });
    for (const row of fetched) {
      if (items.length === limit || characters >= partCharacters) return { items: items.join(","), next: after };
      const item = JSON.stringify(view(row));
      items.push(item);
      characters += item.length;
      read.items += 1;
      read.characters += item.length;
      after = row.id;
    }
    if (fetched.length < rows) return { items: items.join(","), next: null };
  }
}

/** @param first is taken out: while the generator waits for its client, it would keep what it was called with. */
async function* listInParts(
  [before, after]: List<never>["around"],
  first: Part[],
  readNext: (next: string) => Promise<Part>,
): AsyncGenerator<string> {
  yield before;
  for (let part = first.pop(); part !== undefined;) {
    yield part.items;
    const { next } = part;
    part = undefined;
    if (next === null) break;
    yield ",";
    part = await readNext(next);
  }
  yield after;
}
