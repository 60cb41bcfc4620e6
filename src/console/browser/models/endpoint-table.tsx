import type { FleetEndpointView } from "../../../api/fleet-details.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";

type Endpoint = Omit<FleetEndpointView, "generation_id">;

interface EndpointTableProps<E extends Endpoint> {
  readonly label: string;
  readonly endpoints: readonly E[];
  /** Adds a column with the model, if the endpoints belong to several. */
  modelOf?(endpoint: E): string;
}

export function EndpointTable<E extends Endpoint>({ label, endpoints, modelOf }: EndpointTableProps<E>) {
  const heads = ["Region", "State", "Since", ...(modelOf === undefined ? [] : ["Model"]), "Checked"];
  return (
    <SmallTable label={label} heads={heads}>
      {endpoints.map((endpoint, index) => (
        <tr key={index}>
          <th scope="row">{endpoint.region}</th>
          <td>
            <StatusBadge status={endpoint.status} />
            {endpoint.detail === null ? null : <span class="second-line">{endpoint.detail}</span>}
          </td>
          <td>
            <RelativeTime at={endpoint.since} />
          </td>
          {modelOf === undefined ? null : <td>{modelOf(endpoint)}</td>}
          <td>
            <RelativeTime at={endpoint.checked_at} />
          </td>
        </tr>
      ))}
    </SmallTable>
  );
}
