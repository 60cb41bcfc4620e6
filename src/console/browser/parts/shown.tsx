/** Renders what src/views says for the browser. */
import type { ComponentChildren } from "preact";

import { relativeTime } from "../../../platform/text/relative-time.ts";
import {
  type Column as ViewColumn,
  type Counts,
  type Fact,
  type Filter as ViewFilter,
  inWords,
  type OwnNeed,
  plainText,
  type Shown as Value,
  sortKeyOf,
  toneOf,
} from "../../../views/view.ts";
import { sentence, serviceNow } from "../data/request.ts";
import { CopyButton, DigestChip } from "./copy-button.tsx";
import { CountBar } from "./count-bar.tsx";
import { Labels } from "./labels.tsx";
import { None, Pending } from "./none.tsx";
import { Notice } from "./notice.tsx";
import { Facts } from "./page.tsx";
import { RelativeTime, Sentence, withTimes } from "./relative-time.tsx";
import { StatusBadge } from "./status-badge.tsx";
import type { Column } from "./table/columns.tsx";
import type { Filter } from "./table/filter-bar.tsx";
import { SmallTable } from "./table/table.tsx";
import { capitalized, number } from "./text.ts";

export function Shown({ value, isInList = false }: { readonly value: Value; readonly isInList?: boolean }) {
  if (value === undefined) return <Pending />;
  if (value === null || value === "") return <None />;
  if (typeof value === "string") return <>{value}</>;
  if (typeof value === "number") return <>{number(value)}</>;
  switch (value.kind) {
    case "past":
      return <RelativeTime at={value.at} />;
    case "future":
      return <RelativeTime at={value.at} inWords={relativeTime} />;
    case "digest":
      return <DigestChip digest={value.text} isInList={isInList} />;
    case "labels":
      return <Labels labels={value.labels} isWhole={!isInList} />;
    case "exact":
      return isInList ? (
        <span class="mono cut" title={value.text}>
          {value.text}
        </span>
      ) : (
        // People compare it, so it is never cut.
        <span class="mono whole">
          {value.text} <CopyButton text={value.text} what="text" />
        </span>
      );
    case "links":
      return value.links.length === 0 ? <None /> : <Links links={value.links} />;
    case "state":
      // No badge: nothing is known, and often it is every robot.
      if (value.state === "not_monitored") return <span class="muted">{capitalized(inWords(value.state))}</span>;
      return (
        <>
          <StatusBadge status={value.state} tone={value.tone} />
          {value.since === undefined || value.since === null ? null : (
            <span class="second-line">
              <RelativeTime at={value.since} />
            </span>
          )}
          {value.reason === undefined || value.reason === null ? null : (
            <span class="second-line two-lines" title={withTimes(value.reason)}>
              <Sentence text={value.reason} />
            </span>
          )}
        </>
      );
    case "sentence":
      return <Sentence text={value.text} />;
    case "counts":
      return isInList ? (
        <span class="bar-and-number">
          <ShownCounts value={value} isInList />
          {`${number(value.ready)}/${number(value.total)}`}
        </span>
      ) : (
        <ShownCounts value={value} />
      );
  }
}

function Links({ links }: { readonly links: readonly { readonly text: string; readonly path: string }[] }) {
  return (
    <>
      {links.map(({ text, path }, index) => (
        <span key={path}>
          {index === 0 ? "" : ", "}
          <a href={path}>{text}</a>
        </span>
      ))}
    </>
  );
}

function ShownCounts({
  value: { counts, noun },
  isInList = false,
}: {
  readonly value: Counts;
  readonly isInList?: boolean;
}) {
  return (
    <CountBar counts={counts.map((each) => ({ ...each, tone: toneOf(each.word) }))} noun={noun} isSmall={isInList} />
  );
}

/** The facts of a resource that have a value. */
export function ShownFacts({ facts }: { readonly facts: readonly Fact[] }) {
  const given = facts.filter(([, value]) => value !== null && value !== "");
  return <Facts facts={given.map(([name, value]) => [capitalized(name), <Shown value={value} />])} />;
}

interface ShownTableProps<Row> {
  readonly label: string;
  /** Shows the label above the table. */
  readonly hasTitle?: boolean;
  readonly columns: readonly ViewColumn<Row>[];
  readonly rows: readonly Row[];
}

export function Needs({ needs }: { readonly needs: readonly OwnNeed[] }) {
  return (
    <>
      {needs.map(({ reason, action, detail = "", since = null, isBlocked = false }) => (
        <Notice key={reason} tone={isBlocked ? "blocked" : "degraded"} title={sentence(reason)}>
          <p>
            {since === null ? null : (
              <>
                <RelativeTime at={since} />.{" "}
              </>
            )}
            {detail === "" ? null : `${sentence(detail)} `}
            {action === "" ? null : sentence(action)}
          </p>
        </Notice>
      ))}
    </>
  );
}

/** A small table of the columns that have a value. */
export function ShownTable<Row>({ label, hasTitle = false, columns, rows }: ShownTableProps<Row>) {
  const isNothing = (value: Value) => value === null || value === "";
  const used = columns.filter(
    ({ from, show }) => from !== "terminal" && from !== "asked" && !rows.every((row) => isNothing(show(row))),
  );
  const table = (
    <SmallTable label={label} heads={used.map(({ name }) => capitalized(name))}>
      {rows.map((row, index) => (
        <tr key={index}>
          {used.map(({ name, show }, at) => {
            const cell = <Shown value={show(row)} isInList />;
            return at === 0 ? (
              <th key={name} scope="row">
                {cell}
              </th>
            ) : (
              <td key={name}>{cell}</td>
            );
          })}
        </tr>
      ))}
    </SmallTable>
  );
  if (!hasTitle) return table;
  return (
    <section>
      <h3>{label}</h3>
      {table}
    </section>
  );
}

/**
 * Columns of a table; those that must be asked for are left out.
 *
 * @param cells by the name of the column, for those that are shown in another way.
 */
export function columnsOf<Row>(
  columns: readonly ViewColumn<Row>[],
  cells: Readonly<Record<string, (row: Row) => ComponentChildren>> = {},
): readonly Column<Row>[] {
  return columns.flatMap((column) => {
    const { name, show, from, first, weight = 1 } = column;
    if (from === "terminal" || from === "asked") return [];
    return {
      id: name,
      name: capitalized(name),
      track: `minmax(${weight > 1 ? 8 : 6}rem, ${weight}fr)`,
      ...(from === undefined ? {} : { from }),
      ...(first === undefined ? {} : { first }),
      cell: cells[name] ?? ((row: Row) => <Shown value={show(row)} isInList />),
      sortBy: (row: Row) => sortKeyOf(column, row),
    };
  });
}

export function filtersOf<Row>(filters: readonly ViewFilter<Row>[]): readonly Filter<Row>[] {
  return filters.map(({ name, valuesOf }) => ({
    id: name,
    label: capitalized(name),
    valuesOf: (row) => valuesOf(row, serviceNow()),
    wordOf: inWords,
  }));
}

/** What a search looks through: all but times. */
export function textOf<Row>(columns: readonly ViewColumn<Row>[], row: Row): string {
  const texts = columns.filter(({ first }) => first === undefined).map(({ show }) => plainText(show(row)));
  return texts.join(" ");
}
