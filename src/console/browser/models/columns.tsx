import type { EndpointView } from "../../../api/endpoints.ts";
import type { ModelView } from "../../../api/models.ts";
import { RelativeTime } from "../parts/relative-time.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import type { Column } from "../parts/table/column.ts";
import { number } from "../parts/text.ts";
import { checkpointsOf, nameOf } from "./data.ts";

/** A model with its endpoints; null before they are loaded. */
export interface OfferedModel {
  readonly model: ModelView;
  readonly endpoints: readonly EndpointView[] | null;
}

export const COLUMNS: readonly Column<OfferedModel>[] = [
  {
    id: "name",
    name: "Model",
    track: "minmax(10rem, 1.6fr)",
    cell: ({ model }) => nameOf(model),
    sortBy: ({ model }) => nameOf(model),
  },
  {
    id: "slug",
    name: "Slug",
    track: "minmax(8rem, 1fr)",
    cell: ({ model }) => <span class="mono over">{model.slug}</span>,
    sortBy: ({ model }) => model.slug,
  },
  {
    id: "endpoints",
    name: "Endpoints",
    track: "11rem",
    isWideOnCard: true,
    isPlainOnCard: true,
    cell: ({ endpoints }) => <Endpoints endpoints={endpoints} />,
    sortBy: ({ endpoints }) => STATES.indexOf(stateOf(endpoints)),
  },
  {
    id: "vendor",
    name: "Vendor",
    track: "minmax(7rem, 1fr)",
    from: "narrow",
    cell: ({ model: { vendor } }) => vendor ?? <span class="muted">–</span>,
    sortBy: ({ model: { vendor } }) => vendor ?? null,
  },
  {
    id: "type",
    name: "Type",
    track: "minmax(8rem, 1.2fr)",
    from: "medium",
    cell: ({ model: { model_type: modelType } }) => modelType ?? <span class="muted">–</span>,
    sortBy: ({ model: { model_type: modelType } }) => modelType ?? null,
  },
  {
    id: "license",
    name: "License",
    track: "6rem",
    from: "wide",
    cell: ({ model: { license_tier: licenseTier } }) => licenseTier ?? <span class="muted">–</span>,
    sortBy: ({ model: { license_tier: licenseTier } }) => licenseTier ?? null,
  },
  {
    id: "checkpoints",
    name: "Checkpoints",
    track: "6.5rem",
    align: "end",
    cell: ({ model }) => number(checkpointsOf(model).length),
    sortBy: ({ model }) => checkpointsOf(model).length,
    first: "down",
  },
  {
    id: "newest",
    name: "Newest",
    track: "8rem",
    from: "medium",
    cell: ({ model }) => <RelativeTime at={checkpointsOf(model)[0]?.created_at} />,
    sortBy: ({ model }) => Date.parse(checkpointsOf(model)[0]?.created_at ?? "") || null,
    first: "down",
  },
];

/** Combined states of a model's endpoints, most urgent first. */
const STATES: readonly string[] = ["unhealthy", "none", "unknown", "healthy"];

export function stateOf(endpoints: readonly EndpointView[] | null): string {
  if (endpoints === null) return "unknown";
  if (endpoints.length === 0) return "none";
  return STATES.find((state) => endpoints.some(({ status }) => status === state)) ?? "unknown";
}

function Endpoints({ endpoints }: Pick<OfferedModel, "endpoints">) {
  if (endpoints === null) return <span class="muted">–</span>;
  if (endpoints.length === 0) return <StatusBadge status="unknown" word="none" />;
  const state = stateOf(endpoints);
  const count = endpoints.filter(({ status }) => status === state).length;
  const word = count === endpoints.length ? `${number(count)} ${state}` : `${count} of ${endpoints.length} ${state}`;
  return <StatusBadge status={state} word={word} />;
}
