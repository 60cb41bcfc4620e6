import type { EndpointView } from "../../../../api/fleet-details.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Checkpoint } from "./model-data.ts";

interface EndpointTableProps {
  readonly checkpoint: Checkpoint;
  readonly endpoints: readonly EndpointView[];
}

/** Where a checkpoint answers, and whether it does. */
export function EndpointTable({ checkpoint: { id }, endpoints }: EndpointTableProps) {
  const own = endpoints.filter(({ checkpoint_id }) => checkpoint_id === id);
  if (own.length === 0) return <p>None: no robot can run this checkpoint before the catalog names one.</p>;
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label={`Endpoints of ${id}`}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Region</th>
            <th scope="col">State</th>
            <th scope="col">Since</th>
            <th scope="col">Looked at</th>
            <th scope="col">What it said</th>
          </tr>
        </thead>
        <tbody>
          {own.map(({ region, status, since, checked_at, detail }) => (
            <tr key={region}>
              <th scope="row">{region}</th>
              <td>
                <StatusBadge status={status} />
              </td>
              <td>
                <RelativeTime at={since} />
              </td>
              <td>
                <RelativeTime at={checked_at} />
              </td>
              <td>{detail ?? <span class="muted">–</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
