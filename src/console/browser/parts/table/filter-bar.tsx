import { useMemo } from "preact/hooks";

import { visible } from "../../../../platform/text/visible.ts";
import { type Filter, inWords } from "../../../../views/view.ts";
import { serviceNow } from "../../data/request.ts";
import { setParameter, setQuery, useLocation } from "../../router.ts";
import { EndingButton } from "../form/ending-button.tsx";
import { Field } from "../form/fields.tsx";
import { capitalized, compareTexts, number } from "../text.ts";

export interface Filtering<Row> {
  /** The name of each is its name in the URL. */
  readonly filters: readonly Filter<Row>[];
  /** The text that the search looks through. */
  textOf(row: Row): string;
}

const SEARCH_LENGTH = 200;

/** The rows that match every word of the search and every filter in the URL. */
export function useFiltered<Row>(rows: readonly Row[], { filters, textOf }: Filtering<Row>): readonly Row[] {
  const { query } = useLocation();
  // Compared as displayed, so that text copied from the page is found.
  const texts = useMemo(() => rows.map((row) => visible(textOf(row)).toLowerCase()), [rows]);
  const key = query.toString();
  return useMemo(() => {
    const words = visible(query.get("q") ?? "")
      .toLowerCase()
      .split(/\s+/)
      .filter(Boolean);
    const wanted = filters.flatMap((filter) => {
      const value = query.get(filter.name);
      return value === null ? [] : [{ filter, value }];
    });
    if (words.length === 0 && wanted.length === 0) return rows;
    return rows.filter(
      (row, index) =>
        words.every((word) => texts[index]?.includes(word)) &&
        wanted.every(({ filter, value }) => filter.valuesOf(row, serviceNow()).includes(value)),
    );
  }, [rows, key]);
}

interface FilterBarProps<Row> extends Pick<Filtering<Row>, "filters"> {
  readonly rows: readonly Row[];
  readonly matching: number;
  readonly noun: string;
}

/** A search field and filters, kept in the URL. The space for the number of matches is reserved, so that nothing moves. */
export function FilterBar<Row>({ rows, matching, noun, filters }: FilterBarProps<Row>) {
  const { query } = useLocation();
  const isFiltering = query.has("q") || filters.some(({ name }) => query.has(name));
  const clear = () =>
    setQuery((query) => {
      for (const id of ["q", ...filters.map(({ name }) => name)]) query.delete(id);
    });
  return (
    <form role="search" class="filters" onSubmit={(event) => event.preventDefault()}>
      <div class="filters-search">
        <Field
          kind="search"
          label={`Search ${noun}s`}
          value={query.get("q") ?? ""}
          change={(value) => setParameter("q", value)}
          input={{ maxLength: SEARCH_LENGTH }}
        />
        <div class="filters-result">
          <span role="status">
            {isFiltering ? `${number(matching)} of ${number(rows.length)}` : ""}
            {isFiltering ? <span class="visually-hidden"> {noun}s</span> : null}
          </span>
          {isFiltering ? (
            <EndingButton className="button-inline" press={clear}>
              Clear
            </EndingButton>
          ) : null}
        </div>
      </div>
      {filters.map((filter) => (
        <FilterSelect key={filter.name} filter={filter} rows={rows} />
      ))}
    </form>
  );
}

function FilterSelect<Row>({ filter, rows }: { readonly filter: Filter<Row>; readonly rows: readonly Row[] }) {
  const { name } = filter;
  const chosen = useLocation().query.get(name) ?? "";
  const options = useMemo(() => optionsOf(filter, rows, chosen), [rows, chosen]);
  return (
    <Field
      kind="select"
      label={capitalized(name)}
      value={chosen}
      options={options}
      change={(value) => setParameter(name, value)}
    />
  );
}

function optionsOf<Row>({ valuesOf }: Filter<Row>, rows: readonly Row[], chosen: string) {
  // A link may filter by a value that no row has any more.
  const counts = new Map(chosen === "" ? [] : [[chosen, 0]]);
  for (const row of rows)
    for (const value of valuesOf(row, serviceNow())) counts.set(value, (counts.get(value) ?? 0) + 1);
  const found = [...counts].sort(([left], [right]) => compareTexts(left, right));
  return [
    { value: "", word: "All" },
    ...found.map(([value, count]) => ({ value, word: `${inWords(value)} (${number(count)})` })),
  ];
}
