import type { FleetGenerationView } from "../../../api/fleet-details.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";

/** All generations of a fleet: its current model, earlier ones, and updates. */
export function GenerationTable({ generations }: { readonly generations: readonly FleetGenerationView[] }) {
  return (
    <SmallTable label="Model generations" heads={["Model", "State", "Given", "Active since"]}>
      {generations.map(
        ({
          generation_id: generationId,
          subject,
          status,
          created_at: createdAt,
          activated_at: activatedAt,
          blocker,
        }) => (
          <tr key={generationId}>
            <th scope="row" title={generationId}>
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
              <RelativeTime at={createdAt} />
            </td>
            <td>
              <RelativeTime at={activatedAt} />
            </td>
          </tr>
        ),
      )}
    </SmallTable>
  );
}
