import type { FleetGenerationView } from "../../../../api/fleet-details.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/small-table.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";

/** Every model that the fleet was given. */
export function GenerationTable({ generations }: { readonly generations: readonly FleetGenerationView[] }) {
  return (
    <SmallTable label="Model generations" heads={["Model", "State", "Given", "Active since"]}>
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
    </SmallTable>
  );
}
