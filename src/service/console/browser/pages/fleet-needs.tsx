import type { FleetView } from "../../../../api/fleets.ts";
import type { Count } from "../parts/count-bar.tsx";
import { CountBar } from "../parts/count-bar.tsx";
import { StatusBadge, toneOf } from "../parts/status-badge.tsx";
import { counted } from "../parts/text.ts";
import { fleetPath, reasonOf, severityOf } from "./fleet-data.ts";

interface NeedsProps {
  readonly fleets: readonly FleetView[];
  readonly lines: number;
}

/** How all fleets are, and those that wait for a person, with why. */
export function FleetSummary({ fleets, lines }: NeedsProps) {
  if (fleets.length === 0) {
    return (
      <p>
        There is no fleet yet. <a href="/fleets">What is a fleet?</a>
      </p>
    );
  }
  return (
    <>
      <CountBar counts={stateCounts(fleets)} noun="fleet" />
      <Needs fleets={fleets} lines={lines} />
    </>
  );
}

function Needs({ fleets, lines }: NeedsProps) {
  const needing = fleets.filter(needsPerson).sort((left, right) => severityOf(left) - severityOf(right));
  if (needing.length === 0) {
    return <p class="needs">None of them needs a person.</p>;
  }
  const rest = needing.length - lines;
  return (
    <>
      <ul class="needs" aria-label="Fleets that need a person">
        {needing.slice(0, lines).map((fleet) => (
          <li key={fleet.id}>
            <StatusBadge status={fleet.status} />
            <div>
              <a class="row-link" href={fleetPath(fleet.id)}>
                {fleet.name}
              </a>
              <p class="two-lines" title={reasonOf(fleet) ?? ""}>
                {reasonOf(fleet)}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {rest <= 0 ? null : (
        <p class="table-more">
          <a href="/fleets">{counted(rest, "more fleet")}</a> {rest === 1 ? "needs" : "need"} a person.
        </p>
      )}
    </>
  );
}

function needsPerson({ status, blocker, update }: FleetView): boolean {
  if (status === "blocked" || status === "degraded") return true;
  return (blocker ?? null) !== null || (update?.blocker ?? null) !== null;
}

const STATES = ["ready", "preparing", "degraded", "blocked"] as const;

function stateCounts(fleets: readonly FleetView[]): readonly Count[] {
  return STATES.map((state) => {
    const count = fleets.filter(({ status }) => status === state).length;
    return { tone: toneOf(state), word: state, count };
  });
}
