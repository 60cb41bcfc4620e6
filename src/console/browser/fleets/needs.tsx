import type { FleetNeed } from "../../../api/fleet-details.ts";
import { type Count, CountBar } from "../parts/count-bar.tsx";
import { Sentence, withTimes } from "../parts/relative-time.tsx";
import { StatusBadge, toneOf } from "../parts/status-badge.tsx";
import { counted } from "../parts/text.ts";
import { fleetPath } from "./data.ts";
import { type FleetRow, groupByNeeds, type NeedingFleets, stateWord } from "./rows.ts";

interface SummaryProps {
  readonly rows: readonly FleetRow[];
  readonly lines: number;
}

/** Fleets by state, and those that need attention, with why and what to do. */
export function FleetSummary({ rows, lines }: SummaryProps) {
  if (rows.length === 0) {
    return (
      <p>
        There is no fleet yet. <a href="/fleets">What is a fleet?</a>
      </p>
    );
  }
  return (
    <>
      <CountBar counts={stateCounts(rows)} noun="fleet" />
      <FleetsNeedingAttention groups={groupByNeeds(rows)} lines={lines} />
    </>
  );
}

interface FleetsNeedingAttentionProps {
  readonly groups: readonly NeedingFleets[];
  readonly lines: number;
}

function FleetsNeedingAttention({ groups, lines }: FleetsNeedingAttentionProps) {
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

const STATES = ["ready", "preparing", "degraded", "blocked"] as const;

function stateCounts(rows: readonly FleetRow[]): readonly Count[] {
  return STATES.map((state) => {
    const count = rows.filter(({ fleet }) => fleet.status === state).length;
    return { tone: toneOf(state), word: state, count };
  });
}

export function FleetBadge({ row }: { readonly row: FleetRow }) {
  const word = stateWord(row);
  const { status } = row.fleet;
  return <StatusBadge status={word === status ? status : "degraded"} word={word} />;
}
