import { mayDo } from "../data/session.ts";
import { useSettled } from "../data/use-settled.ts";
import { CountBar } from "../parts/count-bar.tsx";
import { Icon } from "../parts/icon.tsx";
import { type Column, countColumn, textColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { number, withSpaces } from "../parts/text.ts";
import { fleetPath, useFleets } from "./data.ts";
import { FleetBadge, NeedTexts } from "./needs.tsx";
import { type FleetRow, progressOf, robotCounts, severityOf } from "./rows.ts";

const FILTERING: Filtering<FleetRow> = {
  filters: [
    { id: "state", label: "State", valuesOf: ({ fleet: { status } }) => [status] },
    { id: "model", label: "Model", valuesOf: ({ fleet: { subject } }) => [subject] },
    {
      id: "mode",
      label: "Mode",
      valuesOf: ({ fleet: { readiness_mode: readinessMode } }) => [readinessMode],
      wordOf: withSpaces,
    },
  ],
  textOf: ({ fleet, needs }) =>
    [fleet.name, fleet.id, fleet.subject, fleet.status, ...needs.map(({ reason }) => reason)].join(" "),
};

/** `/fleets`: all fleets, with why some are not ready. */
export function Fleets() {
  const { fleets, needs, rows } = useFleets();
  const isSettled = useSettled([fleets, needs]);
  const create = mayDo("fleets:write") ? (
    <a class="button button-main" href="/fleets/new">
      <Icon name="plus" />
      New fleet
    </a>
  ) : undefined;
  return (
    <ListPage
      title="Fleets"
      actions={create}
      data={fleets}
      emptyTitle="There is no fleet yet"
      empty={
        <p>
          A fleet is a group of robots that share one model. The service keeps capacity ready for them, and shows which
          robots cannot run the model.
        </p>
      }
      noun="fleet"
      columns={COLUMNS}
      rows={rows}
      keyOf={({ fleet }) => fleet.id}
      hrefOf={({ fleet }) => fleetPath(fleet.id)}
      sort="state"
      isLoading={!isSettled}
      rowHeight="3.25rem"
      cardHeight="7.5rem"
      filtering={FILTERING}
      hint="Name, model, reason"
    />
  );
}

const COLUMNS: readonly Column<FleetRow>[] = [
  textColumn({ id: "name", name: "Fleet", track: "minmax(9rem, 1.2fr)" }, ({ fleet }) => fleet.name),
  {
    id: "state",
    name: "State",
    track: "8.25rem",
    isPlainOnCard: true,
    cell: (row) => <FleetBadge row={row} />,
    sortBy: severityOf,
  },
  {
    id: "reason",
    name: "Reason",
    track: "minmax(12rem, 3fr)",
    cell: ({ fleet, needs }) => (needs.length === 0 ? progressOf(fleet) : <NeedTexts needs={needs} isBrief />),
    isWideOnCard: true,
    isPlainOnCard: true,
  },
  {
    id: "robots",
    name: "Robots",
    track: "minmax(8rem, 1fr)",
    isPlainOnCard: true,
    cell: (row) => (
      <span class="bar-and-number">
        <CountBar counts={robotCounts(row)} noun="robot" isSmall />
        {number(row.fleet.robots.registered)}
      </span>
    ),
    sortBy: ({ fleet }) => fleet.robots.registered,
    first: "down",
  },
  {
    id: "model",
    name: "Model",
    track: "minmax(7rem, 1fr)",
    from: "medium",
    cell: ({ fleet: { active_model: activeModel, subject, update } }) => (
      <>
        {activeModel?.subject ?? subject}
        {update === null || update === undefined ? null : <span class="second-line">→ {update.subject}</span>}
      </>
    ),
    sortBy: ({ fleet }) => fleet.subject,
  },
  textColumn({ id: "mode", name: "Mode", track: "7rem", from: "wide" }, ({ fleet }) =>
    withSpaces(fleet.readiness_mode),
  ),
  countColumn({ id: "peak", name: "Peak", track: "4rem", from: "wide" }, ({ fleet }) => fleet.peak_active_robots),
];
