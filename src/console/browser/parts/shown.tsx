/** Renders what src/views says for the browser. */
import type { ComponentChildren } from "preact";

import { relativeTime } from "../../../platform/text/relative-time.ts";
import {
  type Column as ViewColumn,
  type Fact,
  inWords,
  type OwnNeed,
  plainText,
  type Shown as Value,
  sortKeyOf,
} from "../../../views/view.ts";
import { sentence } from "../data/request.ts";
import { CopyButton, DigestChip } from "./copy-button.tsx";
import { CountBar } from "./count-bar.tsx";
import { Labels } from "./labels.tsx";
import { Notice } from "./notice.tsx";
import { Facts, None } from "./page.tsx";
import { RelativeTime, Sentence, withTimes } from "./relative-time.tsx";
import { StatusBadge } from "./status-badge.tsx";
import type { Column } from "./table/columns.tsx";
import { SmallTable } from "./table/table.tsx";
import { capitalized, number } from "./text.ts";

export function Shown({ value, isInList = false }: { readonly value: Value; readonly isInList?: boolean }) {
  if (value === undefined) return <span class="muted">…</span>;
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
      if (value.links.length === 0) return <None />;
      return (
        <span class={isInList ? "labels" : "labels labels-wrap"}>
          {value.links.map(({ text, path }) => (
            <a key={path} href={path}>
              {text}
            </a>
          ))}
        </span>
      );
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
      if (!isInList) return <CountBar {...value} />;
      return (
        <span class="bar-and-number">
          <CountBar {...value} isSmall />
          {`${number(value.ready)}/${number(value.total)}`}
        </span>
      );
  }
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

/** How columns are shown in another way, by their names; null leaves one out. */
export type Cells<Row> = Readonly<Record<string, ((row: Row) => ComponentChildren) | null>>;

/** Columns of a table; those that must be asked for are left out. */
export function columnsOf<Row>(columns: readonly ViewColumn<Row>[], cells: Cells<Row> = {}): readonly Column<Row>[] {
  return columns.flatMap((column) => {
    const { name, show, from, first, weight = 1 } = column;
    if (from === "terminal" || from === "asked" || cells[name] === null) return [];
    return {
      id: name,
      name: capitalized(name),
      track: `minmax(5.5rem, ${weight}fr)`,
      ...(from === undefined ? {} : { from }),
      ...(first === undefined ? {} : { first }),
      cell: cells[name] ?? ((row: Row) => <Shown value={show(row)} isInList />),
      sortBy: (row: Row) => sortKeyOf(column, row),
    };
  });
}

/** What a search looks through: all but times. */
export function textOf<Row>(columns: readonly ViewColumn<Row>[], row: Row): string {
  const texts = columns.filter(({ first }) => first === undefined).map(({ show }) => plainText(show(row)));
  return texts.join(" ");
}
