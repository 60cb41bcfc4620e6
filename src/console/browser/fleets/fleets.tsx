import type { FleetNeed } from "../../../api/fleet-details.ts";
import { FLEET_STATES, type FleetRow, FLEETS, fleetState, groupNeeds, reasonOf } from "../../../views/fleets.ts";
import { counted } from "../../../views/view.ts";
import { areSettled } from "../data/query.ts";
import { CountBar } from "../parts/count-bar.tsx";
import { ChangeButton } from "../parts/form/change.tsx";
import { Sentence, withTimes } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { ListPage } from "../parts/table/list-page.tsx";
import { capitalized } from "../parts/text.ts";
import { fleetPath, useFleets } from "./data.ts";
import { NEW_FLEET } from "./new.tsx";

/** The action stands below its reason, and the id is on the page of the fleet. */
const CELLS = { reason: (row: FleetRow) => <Reason row={row} />, action: null, id: null };

/** `/fleets`: all fleets, with why some are not ready. */
export function Fleets() {
  const { fleets, needs, rows } = useFleets();
  const isSettled = areSettled([fleets, needs]);
  return (
    <ListPage
      view={FLEETS}
      cells={CELLS}
      data={fleets}
      rows={rows}
      keyOf={({ fleet }) => fleet.id}
      hrefOf={({ fleet }) => fleetPath(fleet.id)}
      sort="status"
      isLoading={!isSettled}
      actions={<ChangeButton change={NEW_FLEET} />}
      empty={
        <p>
          A fleet is a group of robots that share one model. The service keeps capacity ready for them, and shows which
          robots cannot run the model.
        </p>
      }
    />
  );
}

interface SummaryProps {
  readonly rows: readonly FleetRow[];
  readonly lines: number;
}

/** Fleets by state, and those that need attention, with why and what to do. */
export function FleetSummary({ rows, lines }: SummaryProps) {
  if (rows.length === 0) {
    return (
      <p>
        {FLEETS.empty}. <a href="/fleets">What is a fleet?</a>
      </p>
    );
  }
  const counts = FLEET_STATES.toReversed().map((state) => {
    return { word: state, count: rows.filter((row) => fleetState(row) === state).length };
  });
  return (
    <>
      <CountBar counts={counts} noun="fleet" />
      <FleetsNeedingAttention rows={rows} lines={lines} />
    </>
  );
}

function FleetsNeedingAttention({ rows: all, lines }: SummaryProps) {
  const groups = groupNeeds(all);
  if (groups.length === 0) return <p class="needs">No fleets need attention.</p>;
  const rest = new Set(groups.slice(lines).flatMap(({ rows }) => rows)).size;
  return (
    <>
      <ul class="needs" aria-label="Fleets that need attention">
        {groups.slice(0, lines).map(({ need, rows }) => (
          <li key={`${rows[0].fleet.id} ${need.reason}`}>
            <FleetBadge row={rows[0]} />
            <div>
              <FleetNames rows={rows} />
              <NeedTexts needs={[need]} isBrief />
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

function FleetNames({ rows }: { readonly rows: readonly [FleetRow, ...FleetRow[]] }) {
  const rest = rows.length - NAMES_SHOWN;
  const query = new URLSearchParams({ status: fleetState(rows[0]) });
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

/** All needs of the fleet, else what else there is to say. */
function Reason({ row }: { readonly row: FleetRow }) {
  return row.needs.length === 0 ? (
    <Sentence text={capitalized(reasonOf(row))} />
  ) : (
    <NeedTexts needs={row.needs} isBrief />
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

export function FleetBadge({ row }: { readonly row: FleetRow }) {
  return <StatusBadge status={fleetState(row)} />;
}
