import type { PageQuery } from "../../api/pages.ts";
import type { Answer, LongAnswer } from "../http/answers.ts";
import { answerJson } from "../http/answers.ts";
import type { IdPrefix } from "../ids.ts";
import type { PageRange } from "../store/page-range.ts";
import type { Call } from "./operation.ts";
import { pageOf, readPage } from "./paging.ts";

/** Rows that are held at once, where a list says nothing else; a longer list is sent piece by piece. */
const PART_ROWS = 1000;

/** Around the items of lists that are an object. */
export const ITEMS = ['{"items":[', "]}"] as const;

/** A list of rows that sort by their ids. */
export interface List<Row> {
  /** Of the ids. */
  readonly prefix: IdPrefix;
  /** What stands around the items. */
  readonly around: readonly [before: string, after: string];
  readonly part_rows?: number;
  readonly fetch: (range: PageRange) => Promise<readonly Row[]>;
  /** A row as an item of the list. */
  readonly view: (row: Row) => unknown;
}

/**
 * The page that a request asks for, or everything: in one piece where it is short, else in parts, each as the store was when it
 * was sent, so that a list of any length costs no more memory than a short one, and lets others in between.
 */
export async function answerList<Row extends { readonly id: string }>(
  { query, url }: Pick<Call<null, PageQuery>, "query" | "url">,
  list: List<Row>,
): Promise<Answer | LongAnswer> {
  const page = readPage(query, list.prefix);
  if (page.state === "refused") return page.answer;
  const [before, after] = list.around;
  if (page.range.rows !== null) {
    const { rows, headers } = pageOf(await list.fetch(page.range), query, url);
    return { ...answerJson(before + print(list, rows) + after), headers };
  }
  const { part_rows = PART_ROWS } = list;
  const first = await list.fetch({ after: page.range.after, rows: part_rows });
  if (first.length < part_rows) return answerJson(before + print(list, first) + after);
  return { status: 200, parts: listInParts(list, first, part_rows) };
}

async function* listInParts<Row extends { readonly id: string }>(
  list: List<Row>,
  first: readonly Row[],
  part_rows: number,
): AsyncGenerator<string> {
  const [before, after] = list.around;
  yield before + print(list, first);
  for (let part = first; part.length === part_rows;) {
    part = await list.fetch({ after: part.at(-1)?.id ?? null, rows: part_rows });
    if (part.length > 0) yield `,${print(list, part)}`;
  }
  yield after;
}

function print<Row>({ view }: List<Row>, rows: readonly Row[]): string {
  return rows.map((row) => JSON.stringify(view(row))).join(",");
}
