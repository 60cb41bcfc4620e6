import { useMemo } from "preact/hooks";

import type { AuditEntryView } from "../../../api/audit.ts";
import { detailsInWords, subjectOf } from "../../../api/words/audit.ts";
import { TOPICS } from "../../topics.ts";
import { useData } from "../data/query.ts";
import { None } from "../parts/none.tsx";
import { withTimes } from "../parts/relative-time.tsx";
import { type Column, textColumn, timeColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { number } from "../parts/text.ts";

/** Changes that the page loads; the command line lists all. */
const CHANGES_SHOWN = 1000;

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly what: string;
  readonly subject: string;
  readonly subjectId: string;
  readonly by: string;
  readonly from: string;
  readonly details: string;
}

const COLUMNS: readonly Column<Entry>[] = [
  textColumn({ id: "what", name: "What", track: "minmax(9.5rem, 1.2fr)" }, ({ what }) => what),
  timeColumn({ id: "when", name: "When", track: "7rem" }, ({ at }) => at),
  textColumn(
    {
      id: "subject",
      name: "Subject",
      track: "minmax(7rem, 1fr)",
      cell: ({ subject, subjectId }) => <span title={subjectId}>{subject || <None />}</span>,
    },
    ({ subject }) => subject,
  ),
  textColumn({ id: "by", name: "By", track: "minmax(6rem, 0.8fr)" }, ({ by }) => by),
  textColumn({ id: "from", name: "From", track: "8rem", from: "wide" }, ({ from }) => from),
  {
    id: "details",
    name: "Details",
    track: "minmax(10rem, 2fr)",
    cell: ({ details }) => <span title={details}>{details}</span>,
  },
];

const FILTERING: Filtering<Entry> = {
  filters: [
    { id: "what", label: "What", valuesOf: ({ what }) => [what] },
    { id: "by", label: "By", valuesOf: ({ by }) => [by] },
  ],
  textOf: (entry) => Object.values(entry).join(" "),
};

/** `/audit`: who changed what, newest first. */
export function Audit() {
  const changes = useData<{ readonly items: readonly AuditEntryView[] }>(`/v1/me/audit?limit=${CHANGES_SHOWN}`, TOPICS);
  const changed = changes.value?.items;
  const rows = useMemo(() => (changed ?? []).map(entryOfChange), [changed]);
  return (
    <ListPage
      title="Audit"
      isCounted={false}
      data={changes}
      emptyTitle="Nothing was changed yet"
      empty={<p>This page lists who changed what.</p>}
      caption="Audit"
      noun="event"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ id }) => id}
      sort="-when"
      filtering={FILTERING}
      hint="Name, id, key, address"
    >
      {changed?.length === CHANGES_SHOWN ? (
        <p class="table-more">
          The newest {number(CHANGES_SHOWN)} changes. <code>robot-policy audit --since 365d</code> shows the others too.
        </p>
      ) : null}
    </ListPage>
  );
}

function entryOfChange(entry: AuditEntryView): Entry {
  const { id, at, action, subject_id: subjectId, actor, details } = entry;
  return {
    id,
    at,
    what: action,
    subject: subjectOf(entry),
    subjectId,
    by: actor.label ?? actor.id,
    from: typeof details["address"] === "string" ? details["address"] : "",
    details: withTimes(detailsInWords(entry)),
  };
}
