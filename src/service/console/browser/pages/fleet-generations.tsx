import type { FleetEndpointView, FleetGenerationView } from "../../../../api/fleet-details.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";

interface EndpointTableProps {
  readonly endpoints: readonly FleetEndpointView[];
  readonly generations: readonly FleetGenerationView[];
}

/** The servers that a fleet's models answer at, by region. */
export function EndpointTable({ endpoints, generations }: EndpointTableProps) {
  if (endpoints.length === 0) return <p>The catalog names no endpoint for the model of this fleet.</p>;
  const subjects = new Map(generations.map(({ generation_id, subject }) => [generation_id, subject]));
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Inference endpoints">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Region</th>
            <th scope="col">State</th>
            <th scope="col">Since</th>
            <th scope="col">Model</th>
            <th scope="col">Last seen</th>
          </tr>
        </thead>
        <tbody>
          {endpoints.map(({ generation_id, region, status, since, checked_at, detail }) => (
            <tr key={generation_id + region}>
              <th scope="row">{region}</th>
              <td>
                <StatusBadge status={status} />
                {detail === null ? null : <span class="second-line">{detail}</span>}
              </td>
              <td>
                <RelativeTime at={since} />
              </td>
              <td>{subjects.get(generation_id) ?? generation_id}</td>
              <td>
                <RelativeTime at={checked_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Every model that the fleet was given. */
export function GenerationTable({ generations }: Pick<EndpointTableProps, "generations">) {
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Model generations">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">State</th>
            <th scope="col">Given</th>
            <th scope="col">Active since</th>
          </tr>
        </thead>
        <tbody>
          {generations.map(({ generation_id, subject, status, created_at, activated_at, blocker }) => (
            <tr key={generation_id}>
              <th scope="row" title={generation_id}>
                {subject}
              </th>
              <td>
                <StatusBadge status={status} />
                {blocker === null ? null : (
                  <span class="second-line two-lines" title={blocker}>
                    {blocker}
                  </span>
                )}
              </td>
              <td>
                <RelativeTime at={created_at} />
              </td>
              <td>
                <RelativeTime at={activated_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
