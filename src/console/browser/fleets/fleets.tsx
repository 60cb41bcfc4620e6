import type { FleetNeed } from "../../../api/fleet-details.ts";
import { mayDo } from "../data/session.ts";
import { useSettled } from "../data/query.ts";
import { CountBar } from "../parts/count-bar.tsx";
import { Icon } from "../parts/icon.tsx";
import { Sentence, withTimes } from "../parts/relative-time.tsx";
import { StatusBadge, toneOf } from "../parts/status-badge.tsx";
import { type Column, countColumn, textColumn } from "../parts/table/columns.tsx";
import type { Filtering } from "../parts/table/filter-bar.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { counted, number, withSpaces } from "../parts/text.ts";
import {
  fleetPath,
  type FleetRow,
  groupByNeeds,
  progressOf,
  robotCounts,
  severityOf,
  stateWord,
  useFleets,
} from "./data.ts";

const COLUMNS: readonly Column<FleetRow>[] = [
  textColumn({ id: "name", name: "Fleet", track: "minmax(9rem, 1.2fr)" }, ({ fleet }) => fleet.name),
  {
    id: "state",
    name: "State",
    track: "8.25rem",
    cell: (row) => <FleetBadge row={row} />,
    sortBy: severityOf,
  },
  {
    id: "reason",
    name: "Reason",
    track: "minmax(12rem, 3fr)",
    cell: ({ fleet, needs }) => (needs.length === 0 ? progressOf(fleet) : <NeedTexts needs={needs} isBrief />),
  },
  {
    id: "robots",
    name: "Robots",
    track: "minmax(8rem, 1fr)",
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
      filtering={FILTERING}
      hint="Name, model, reason"
    />
  );
}

interface SummaryProps {
  readonly rows: readonly FleetRow[];
  readonly lines: number;
}

const STATES = ["ready", "preparing", "degraded", "blocked"] as const;

/** Fleets by state, and those that need attention, with why and what to do. */
export function FleetSummary({ rows, lines }: SummaryProps) {
  if (rows.length === 0) {
    return (
      <p>
        There is no fleet yet. <a href="/fleets">What is a fleet?</a>
      </p>
    );
  }
  const counts = STATES.map((state) => {
    const count = rows.filter(({ fleet }) => fleet.status === state).length;
    return { tone: toneOf(state), word: state, count };
  });
  return (
    <>
      <CountBar counts={counts} noun="fleet" />
      <FleetsNeedingAttention rows={rows} lines={lines} />
    </>
  );
}

function FleetsNeedingAttention({ rows: all, lines }: SummaryProps) {
  const groups = groupByNeeds(all);
  if (groups.length === 0) return <p class="needs">No fleets need attention.</p>;
  const rest = groups.slice(lines).reduce((sum, { rows }) => sum + rows.length, 0);
  return (
    <>
      <ul class="needs" aria-label="Fleets that need attention">
        {groups.slice(0, lines).map(({ needs, rows }) => (
          <li key={rows[0]?.fleet.id}>
            {rows[0] === undefined ? null : <FleetBadge row={rows[0]} />}
            <div>
              <FleetNames rows={rows} />
              <NeedTexts needs={needs} isBrief />
            </div>
          </li>
        ))}
      </ul>
      {rest === 0 ? null : (
        <p class="table-more">
          <a href="/fleets">{counted(rest, "more fleet")}</a> {rest === 1 ? "needs" : "need"} attention.
        </p>
      )}
    </>
  );
}

/** Most names shown per group. */
const NAMES_SHOWN = 4;

function FleetNames({ rows }: { readonly rows: readonly FleetRow[] }) {
  const rest = rows.length - NAMES_SHOWN;
  const query = new URLSearchParams({ state: rows[0]?.fleet.status ?? "" });
  return (
    <p class="need-names">
      {rows.slice(0, NAMES_SHOWN).map(({ fleet }) => (
        <a key={fleet.id} href={fleetPath(fleet.id)}>
          {fleet.name}
        </a>
      ))}
      {rest <= 0 ? null : <a href={`/fleets?${query.toString()}`}>{counted(rest, "more fleet")}</a>}
    </p>
  );
}

interface NeedTextsProps {
  readonly needs: readonly FleetNeed[];
  /** Cuts long reasons to two lines, never the remedy. */
  readonly isBrief?: boolean;
}

/** Each need: the reason and the remedy. */
export function NeedTexts({ needs, isBrief = false }: NeedTextsProps) {
  return (
    <>
      {needs.map(({ reason, action }) => (
        <div key={reason} class="need">
          <p class={isBrief ? "two-lines" : undefined} title={isBrief ? withTimes(reason) : undefined}>
            <Sentence text={reason} />
          </p>
          <p class="action">{action}</p>
        </div>
      ))}
    </>
  );
}

/** The state to show: of a fleet that is stuck too. */
export function FleetBadge({ row }: { readonly row: FleetRow }) {
  const word = stateWord(row);
  const { status } = row.fleet;
  return <StatusBadge status={word === status ? status : "degraded"} word={word} />;
}
