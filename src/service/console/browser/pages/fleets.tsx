import type { FleetView } from "../../../../api/fleets.ts";
import { mayDo } from "../data/session.ts";
import { CountBar } from "../parts/count-bar.tsx";
import { DataTable } from "../parts/data-table.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import type { Filtering } from "../parts/filter-bar.tsx";
import { Icon } from "../parts/icon.tsx";
import { Page } from "../parts/page.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Column } from "../parts/column.ts";
import { number, spoken } from "../parts/text.ts";
import { countsOf, fleetPath, reasonOf, severityOf, useFleets } from "./fleet-data.ts";

const FILTERING: Filtering<FleetView> = {
  filters: [
    { id: "state", label: "State", valuesOf: ({ status }) => [status] },
    { id: "model", label: "Model", valuesOf: ({ subject }) => [subject] },
    { id: "mode", label: "Mode", valuesOf: ({ readiness_mode }) => [readiness_mode], wordOf: spoken },
  ],
  textOf: (fleet) => [fleet.name, fleet.id, fleet.subject, fleet.status, reasonOf(fleet) ?? ""].join(" "),
};

const NO_FLEETS: readonly FleetView[] = [];

/** `/fleets`: which are ready, and why the others are not. */
export function Fleets() {
  const fleets = useFleets();
  const list = fleets.state === "ready" ? fleets.value : NO_FLEETS;
  const create = mayDo("fleets:write") ? (
    <a class="button button-main" href="/fleets/new">
      <Icon name="plus" />
      New fleet
    </a>
  ) : undefined;
  return (
    <Page title="Fleets" count={fleets.state === "ready" ? number(list.length) : undefined} actions={create}>
      <DataTable
        data={fleets}
        empty={<NoFleets />}
        caption="Fleets"
        noun="fleet"
        columns={COLUMNS}
        rows={list}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => fleetPath(id)}
        sort="state"
        row_height="3.25rem"
        card_height="7.5rem"
        filtering={FILTERING}
        hint="Name, model, reason"
      />
    </Page>
  );
}

function NoFleets() {
  return (
    <EmptyState title="There is no fleet yet">
      <p>
        A fleet is a group of robots that share one model. The service keeps capacity ready for them, and says which of
        them can run it and which cannot.
      </p>
    </EmptyState>
  );
}

const COLUMNS: readonly Column<FleetView>[] = [
  {
    id: "name",
    name: "Fleet",
    track: "minmax(9rem, 1.2fr)",
    cell: ({ name }) => name,
    sortBy: ({ name }) => name,
  },
  {
    id: "state",
    name: "State",
    track: "8.25rem",
    is_plain_on_card: true,
    cell: ({ status }) => <StatusBadge status={status} />,
    sortBy: severityOf,
  },
  {
    id: "reason",
    name: "Why",
    track: "minmax(12rem, 3fr)",
    cell: (fleet) => <Reason text={reasonOf(fleet)} />,
    is_wide_on_card: true,
    is_plain_on_card: true,
  },
  {
    id: "robots",
    name: "Robots",
    track: "minmax(8rem, 1fr)",
    is_plain_on_card: true,
    cell: ({ robots }) => (
      <span class="bar-and-number">
        <CountBar counts={countsOf(robots)} noun="robot" is_small />
        <span title="Registered">{number(robots.registered)}</span>
      </span>
    ),
    sortBy: ({ robots }) => robots.registered,
    first: "down",
  },
  {
    id: "model",
    name: "Model",
    track: "minmax(7rem, 1fr)",
    from: "medium",
    cell: ({ active_model, subject, update }) => (
      <>
        {active_model?.subject ?? subject}
        {update === null || update === undefined ? null : <span class="second-line">→ {update.subject}</span>}
      </>
    ),
    sortBy: ({ subject }) => subject,
  },
  {
    id: "mode",
    name: "Mode",
    track: "7rem",
    from: "wide",
    cell: ({ readiness_mode }) => spoken(readiness_mode),
    sortBy: ({ readiness_mode }) => readiness_mode,
  },
  {
    id: "peak",
    name: "Peak",
    track: "4rem",
    from: "wide",
    align: "end",
    cell: ({ peak_active_robots }) => number(peak_active_robots),
    sortBy: ({ peak_active_robots }) => peak_active_robots,
    first: "down",
  },
];

function Reason({ text }: { readonly text: string | null }) {
  if (text === null) return <span class="muted">–</span>;
  return (
    <span class="two-lines" title={text}>
      {text}
    </span>
  );
}
