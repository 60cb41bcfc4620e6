import type * as z from "zod";

import type { refusalListSchema, RefusalView } from "../../../api/refusals.ts";
import { refusalInWords } from "../../../api/words/audit.ts";
import { type Data, useData } from "../data/use-data.ts";
import { Section } from "../parts/page.tsx";
import { RelativeTime } from "../parts/relative-time.tsx";
import { SmallTable } from "../parts/table/small-table.tsx";

/** Refused registrations, newest first: of all robots, or of one by its name or id. */
export function useRefusals(robot?: string): Data<z.output<typeof refusalListSchema>> {
  const query = robot === undefined ? "" : `?${new URLSearchParams({ robot }).toString()}`;
  return useData(`/v1/me/refusals${query}`, ["robots"]);
}

interface RefusalsProps {
  readonly title: string;
  readonly refusals: readonly RefusalView[];
}

/** The refused registrations of one robot; nothing if there are none. */
export function Refusals({ title, refusals }: RefusalsProps) {
  if (refusals.length === 0) return null;
  return (
    <Section title={title} note="Newest first">
      <SmallTable label="Refused registrations" heads={["When", "Reason", "By", "From"]}>
        {refusals.map((refusal) => (
          <tr key={refusal.id}>
            <th scope="row">
              <RelativeTime at={refusal.last_at} />
            </th>
            <td>{refusalInWords(refusal)}</td>
            <td title={refusal.actor.id}>{refusal.actor.label ?? refusal.actor.id}</td>
            <td>{refusal.address}</td>
          </tr>
        ))}
      </SmallTable>
    </Section>
  );
}
