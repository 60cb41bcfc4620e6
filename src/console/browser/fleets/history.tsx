import type { FleetGenerationView } from "../../../api/fleet-details.ts";
import { RelativeTime, Sentence, withTimes } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";

/** All generations of a fleet: its current model, earlier ones, and updates. */
export function GenerationTable({ generations }: { readonly generations: readonly FleetGenerationView[] }) {
  return (
    <SmallTable label="Model generations" heads={["Model", "State", "Given", "Active since"]}>
      {generations.map((generation) => (
        <tr key={generation.generation_id}>
          <th scope="row" title={generation.generation_id}>
            {generation.subject}
          </th>
          <td>
            <StatusBadge status={generation.status} />
            {generation.blocker === null ? null : (
              <span class="second-line two-lines" title={withTimes(generation.blocker)}>
                <Sentence text={generation.blocker} />
              </span>
            )}
          </td>
          <td>
            <RelativeTime at={generation.created_at} />
          </td>
          <td>
            <RelativeTime at={generation.activated_at} />
          </td>
        </tr>
      ))}
    </SmallTable>
  );
}
